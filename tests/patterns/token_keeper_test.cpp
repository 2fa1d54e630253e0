// A credential that a second refresh voids, used by a fleet (C8).
#include "patterns/fleet.hpp"
#include "support/shared_page.hpp"

#include <mortise/patterns/token_keeper.hpp>

#include <atomic>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

// Two hours are a second here.
constexpr auto validity = 1s;
constexpr auto ahead = validity / 10;

class credentials : public on_host_and_redis {
protected:
    struct provider {
        std::atomic<int> current;  // all others are void
        std::atomic<std::int64_t> issued;
        std::atomic<int> refreshes;
        std::atomic<int> sends;
        std::atomic<int> rejected;
    };
    const shared_page<provider> there{};

    static std::int64_t now() { return boot_clock::now().time_since_epoch().count(); }

    credential issue() const {
        there->issued = now();
        ++there->refreshes;
        return {std::to_string(++there->current), validity};
    }
    // `began`: when the sender asked for the credential. One that stood still for as long as a credential is replaced ahead
    // of its end may come too late with it, which no lock prevents; with one that was replaced it may never come.
    void send(const std::string& token, std::int64_t began) const {
        ++there->sends;
        const bool expired = std::chrono::nanoseconds{now() - there->issued} >= validity;
        const bool stood_still = std::chrono::nanoseconds{now() - began} >= ahead;
        there->rejected += token != std::to_string(there->current) || (expired && !stood_still);
    }
};
INSTANTIATE_TEST_SUITE_P(locks_on, credentials, ::testing::Values("host", "redis"),
                         [](const auto& which) { return std::string(which.param); });

TEST_P(credentials, are_never_used_when_they_are_void) {
    crew all{5, [&](int) {
                 client locks{url()};
                 const std::unique_ptr<fenced_storage> storage{data_server::open(prefix())};
                 token_keeper keeper{locks,
                                     *storage,
                                     "provider",
                                     [&] {
                                         const credential made = issue();
                                         if (made.value == "2" || made.value == "4") ::kill(::getpid(), SIGKILL);
                                         return made;
                                     },
                                     {.ahead = ahead, .refresh_within = 3s}};
                 in_threads(10, [&](int) {
                     while (there->refreshes < 8) {
                         const std::int64_t began = now();
                         keeper.use([&](const std::string& token) { send(token, began); });
                     }
                 });
                 return 0;
             }};
    EXPECT_TRUE(all.finish());
    EXPECT_EQ(all.deaths(), 2);
    EXPECT_EQ(there->rejected, 0);
    std::cout << there->sends << " sends, " << there->refreshes << " refreshes, " << all.deaths()
              << " refreshers killed, " << there->rejected << " rejected\n";
}

// Each process keeps a credential of its own.
TEST_P(credentials, without_a_keeper_are_rejected) {
    crew all{5, [&](int) {
                 credential mine;
                 std::int64_t since = 0;
                 while (there->refreshes < 20) {
                     if (mine.value.empty() || now() - since > std::chrono::nanoseconds(100ms).count()) {
                         mine = issue();
                         since = now();
                     }
                     send(mine.value, now());
                     std::this_thread::sleep_for(1ms);
                 }
                 return 0;
             }};
    EXPECT_TRUE(all.finish());
    EXPECT_GT(there->rejected, 0);
    std::cout << "without a keeper: " << there->rejected << " of " << there->sends << " rejected\n";
}

}  // namespace
}  // namespace mortise::testing
