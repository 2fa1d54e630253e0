// Leaders that die and stand still.
#include "checker/history/audit.hpp"
#include "checker/history/traffic.hpp"
#include "stores/etcd/fixture.hpp"
#include "stores/etcd/servers/suite.hpp"

#include <mortise/error.hpp>

#include <thread>

namespace mortise::inline v0::stores::etcd {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using testing::traffic;

class etcd_leaders : public servers::on_members<3> {
protected:
    traffic::plan busy() const {
        return {.urls = std::vector<std::string>(4, url("&timeout=500ms")), .how = {.wait = 20s, .lease = 10s}};
    }
    static void expect_right(const traffic::verdict& found) {
        EXPECT_EQ(found.overlaps, 0u);
        EXPECT_EQ(found.token_disorders, 0u);
        EXPECT_EQ(found.lost, 0u);
        EXPECT_GT(found.visits, 0u) << found.last_refusal;
    }
    // Everything has healed.
    void expect_no_orphans(const traffic& some) const {
        const auto found = testing::audit(
            10s + 2s, [&] { return records_at(url()); }, [&] { return some.admitted(); });
        EXPECT_TRUE(found.innocent()) << found.describe();
    }
    [[nodiscard]] static bool goes_on(const traffic& some) {
        const auto before = some.visits();
        return eventually([&] { return some.visits() > before + 20; });
    }
};

TEST_F(etcd_leaders, that_are_killed_and_come_back_let_nobody_in_twice) {
    traffic some{busy()};
    for (int n = 0; n < 2; ++n) {
        ASSERT_TRUE(goes_on(some));
        const std::size_t leader = all().leader();
        all().member(leader).kill();
        EXPECT_TRUE(goes_on(some)) << "without a leader";
        all().member(leader).restart();
        expect_no_orphans(some);
    }
    EXPECT_TRUE(goes_on(some));
    expect_right(some.stop());
}

TEST_F(etcd_leaders, that_stand_still_for_less_than_the_lease_let_nobody_in_twice) {
    traffic some{busy()};
    ASSERT_TRUE(goes_on(some));
    const std::size_t leader = all().leader();
    all().member(leader).freeze();
    EXPECT_TRUE(goes_on(some)) << "without a leader";
    all().member(leader).thaw();
    EXPECT_TRUE(goes_on(some));
    expect_no_orphans(some);
    expect_right(some.stop());
}

TEST_F(etcd_leaders, that_die_right_after_a_grant_had_told_the_others) {
    client locks{url("&timeout=500ms")};
    client others{url("&timeout=500ms")};
    const std::size_t leader = all().leader();
    const hold mine = locks.acquire("n", {.lease = 10s});
    all().member(leader).kill();
    const attempt theirs = others.try_acquire("n", {.wait = 3s});
    EXPECT_FALSE(theirs);
    EXPECT_TRUE(mine.valid());
    all().member(leader).restart();
    EXPECT_TRUE(mine.valid());
}

TEST_F(etcd_leaders, are_asked_by_who_looks_or_breaks_if_a_follower_stands_still) {
    const std::size_t leader = all().leader();
    servers::server& follower = all().member((leader + 1) % 3);
    const std::string both = follower.address() + "," + all().member(leader).address();
    client locks{url({}, all().member(leader).address())};
    const hold mine = locks.acquire("n", {.lease = 60s});
    follower.freeze();
    // Each is new, so it asks the follower first.
    EXPECT_EQ(client{url({}, both)}.list().size(), 1u);
    std::error_code ec;
    EXPECT_TRUE(client{url({}, both)}.break_lock("n", mine.token(), "a test", ec)) << ec.message();
    follower.thaw();
}

TEST_F(etcd_leaders, are_needed_for_anything_at_all) {
    for (std::size_t i : {1u, 2u}) all().member(i).kill();
    const auto before = boot_clock::now();
    client locks{url("&timeout=500ms"), {.patience = 3s}};
    const attempt got = locks.try_acquire("n", {.wait = 10s});
    EXPECT_FALSE(got);
    EXPECT_EQ(got.reason(), errc::unreachable);
    EXPECT_LT(boot_clock::now() - before, 20s);
    const std::string told = got.refusal().describe();
    EXPECT_EQ(told.find('\n'), std::string::npos) << told;
    EXPECT_THROW(static_cast<void>(locks.list()), error) << "nor is it read what one member remembers";
    // Neither is ready without the other.
    std::thread other{[&] { all().member(1).restart(); }};
    all().member(2).restart();
    other.join();
    EXPECT_TRUE(locks.try_acquire("n", {.wait = 10s}));
}

}  // namespace
}  // namespace mortise::inline v0::stores::etcd
