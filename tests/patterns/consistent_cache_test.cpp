// A cache in front of a database, under readers and writers that die and stand still for longer than their leases (C6).
#include "patterns/fleet.hpp"
#include "patterns/mariadb_storage.hpp"
#include "stores/mysql/servers/server.hpp"
#include "support/shared_page.hpp"

#include <mortise/error.hpp>
#include <mortise/patterns/consistent_cache.hpp>

#include <array>
#include <atomic>
#include <random>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

constexpr auto lease = 300ms;
constexpr auto nap = 500ms;
constexpr int keys = 4;
constexpr std::size_t most_values = 250'000;  // of a key
constexpr int least_stops = 3;                // a run without them would show nothing

// Stands still or dies now and then, where it hurts most: between what it read and what it writes.
class unsteady final : public fenced_storage {
public:
    unsteady(fenced_storage& behind, bool seals, int stop_every, unsigned seed, std::atomic<int>& stops)
        : behind_(&behind),
          seals_(seals),
          stop_every_(static_cast<unsigned>(stop_every)),
          dice_(seed),
          stops_(&stops) {}

    std::optional<entry> read(std::string_view key) override {
        auto found = behind_->read(key);
        if (found && !seals_) found->settled = true;
        return found;
    }
    bool seal(std::string_view key, token mine) override { return !seals_ || behind_->seal(key, mine); }
    bool write(std::string_view key, token mine, std::string_view bytes, std::chrono::nanoseconds keep) override {
        if (dice_() % stop_every_ == 0) {
            ++*stops_;
            ::raise(SIGSTOP);
        }
        if (dice_() % (2 * stop_every_) == 0) ::kill(::getpid(), SIGKILL);
        if (!seals_) static_cast<void>(behind_->seal(key, last_));  // whatever was sealed: the last one wins
        return behind_->write(key, seals_ ? mine : last_, bytes, keep);
    }

private:
    static constexpr token last_{1};
    fenced_storage* behind_;
    const bool seals_;
    const unsigned stop_every_;
    std::minstd_rand dice_;
    std::atomic<int>* stops_;
};

class read_and_write : public on_host_and_redis {
protected:
    bool in_mariadb() const { return GetParam() == std::string("mariadb"); }
    static stores::mysql::servers::server& mariadb() {
        static stores::mysql::servers::server one;
        return one;
    }
    void SetUp() override {
        on_host_and_redis::SetUp();
        if (!in_mariadb()) return;
        locks_ = mariadb().fresh_url();
        table_ = locks_.substr(locks_.rfind('/') + 1);
        mariadb().run(mariadb_storage::schema(), table_);
    }
    std::string where_locks_are() const { return in_mariadb() ? locks_ : url(); }
    std::unique_ptr<fenced_storage> open_database() const {
        if (in_mariadb()) return std::make_unique<mariadb_storage>(mariadb().port(), table_);
        return std::unique_ptr<fenced_storage>(data_server::open(prefix() + "data:"));
    }
    std::string locks_;
    std::string table_;

    struct counts {
        std::array<std::atomic<std::int64_t>, keys> acknowledged;  // the last value of each whose write returned
        std::atomic<int> begun;
        std::atomic<int> stops;
        std::atomic<int> reads;
        std::atomic<int> stale;
        std::atomic<int> writes;
        std::atomic<int> refused;
        std::atomic<int> lost;  // acknowledged, and written once more by somebody who did not see it
        std::array<std::array<std::atomic<bool>, most_values>, keys> written;
    };
    const shared_page<counts> seen{};

    // Each value is one more than the last. So a read is stale if it is less than what was acknowledged before it began, and a
    // write is lost if a second one with the same value is acknowledged.
    void work(consistent_cache<std::int64_t>& cache, int operations, int enough, unsigned seed) {
        std::minstd_rand dice{seed};
        while ((seen->begun++ < operations || seen->stops < least_stops) && seen->stale < enough) {
            const std::size_t key = dice() % keys;
            const std::string name = "k" + std::to_string(key);
            std::atomic<std::int64_t>& acknowledged = seen->acknowledged[key];
            if (dice() % 8 != 0) {
                const std::int64_t before = acknowledged;
                const std::int64_t got = cache.get(name).value_or(0);
                ++seen->reads;
                seen->stale += got < before;
                continue;
            }
            std::int64_t mine = 0;
            try {
                cache.update(name, [&](std::optional<std::int64_t> last) { return mine = last.value_or(0) + 1; });
            } catch (const error& e) {
                if (e.code() != errc::lost) throw;
                ++seen->refused;
                continue;
            }
            ++seen->writes;
            seen->lost += seen->written[key].at(static_cast<std::size_t>(mine)).exchange(true);
            for (std::int64_t now = acknowledged; now < mine && !acknowledged.compare_exchange_weak(now, mine);)
                continue;
        }
    }

    // The same with the seal and without it; but without it only for as long as it takes to show a stale read.
    bool run(bool seals) {
        const int usual = in_mariadb() ? 500 : 5'000;
        const int operations = seals ? static_cast<int>(scale(static_cast<std::uint64_t>(usual))) : 50 * usual;
        const int stop_every = in_mariadb() ? 40 : 150;
        const int enough = seals ? operations : 1;
        crew all{8,
                 [&](int number) {
                     const std::unique_ptr<fenced_storage> cache{data_server::open(prefix() + "cache:")};
                     const std::unique_ptr<fenced_storage> database = open_database();
                     const unsigned seed = static_cast<unsigned>(::getpid() * 31 + number);
                     unsteady shaky_cache{*cache, seals, stop_every, seed, seen->stops};
                     unsteady shaky_database{*database, seals, stop_every, seed + 1, seen->stops};
                     client locks{where_locks_are(), {.lease = lease}};
                     consistent_cache<std::int64_t> both{locks, shaky_cache, shaky_database, "prices", {.keep = 20ms}};
                     work(both, operations, enough, seed + 2);
                     return 0;
                 },
                 nap};
        const bool well = all.finish(45min);
        std::cout << seen->reads << " reads, " << seen->writes << " writes, " << seen->refused << " refused, "
                  << all.stops() << " stops, " << all.deaths() << " deaths, " << seen->stale << " stale reads, "
                  << seen->lost << " lost writes\n";
        return well;
    }
};
INSTANTIATE_TEST_SUITE_P(locks_on, read_and_write, ::testing::Values("host", "redis", "mariadb"),
                         [](const auto& which) { return std::string(which.param); });

TEST_P(read_and_write, never_shows_what_was_overwritten) {
    EXPECT_TRUE(run(true));
    EXPECT_EQ(seen->stale, 0);
    EXPECT_EQ(seen->lost, 0);
}

TEST_P(read_and_write, does_without_the_seal) {
    EXPECT_TRUE(run(false));
    EXPECT_GT(seen->stale, 0) << "the checker has no teeth";
}

}  // namespace
}  // namespace mortise::testing
