// Waiting in line: long ones, and watches that miss something.
#include "checker/faults/tcp_proxy.hpp"
#include "stores/etcd/servers/suite.hpp"

#include <mortise/shared_mutex.hpp>

#include <algorithm>
#include <atomic>
#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace mortise::inline v0::stores::etcd {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using testing::tcp_proxy;

class etcd_waiting : public servers::on_members<1> {
protected:
    static servers::server& member() { return all().member(0); }

    // Compacts all but what is there now.
    static void compact() {
        const std::string reply = member().command("get mortise-is-it-there --write-out=fields");
        const std::string mark = "\"Revision\" : ";
        const std::size_t at = reply.find(mark) + mark.size();
        member().command("compaction " + reply.substr(at, reply.find('\n', at) - at));
    }
};

// The core asks again every third of a lease; this is longer than the test waits.
constexpr std::chrono::seconds long_lease{180};
constexpr std::chrono::seconds long_wait{1200};
constexpr std::chrono::seconds soon{40};

TEST_F(etcd_waiting, in_a_line_that_is_not_read_whole_everybody_is_served_in_order) {
    constexpr std::size_t crowd = 50;
    const client_options each_asks{.hand_over_turns = 1};
    client one{url(), each_asks};
    client two{url(), each_asks};
    std::mutex guard;
    std::vector<std::size_t> served;
    std::vector<std::jthread> waiters;
    hold mine = one.acquire("n", {.lease = long_lease});
    for (std::size_t n = 0; n < crowd; ++n) {
        waiters.emplace_back([&, n] {
            const hold theirs = (n % 3 == 0 ? one : two).acquire("n", {.wait = long_wait, .lease = long_lease});
            const std::scoped_lock alone{guard};
            served.push_back(n);
        });
        ASSERT_TRUE(eventually([&] { return keys_of(prefix_) == n + 2; }));
    }
    mine.release();
    EXPECT_TRUE(eventually(
        [&] {
            const std::scoped_lock alone{guard};
            return served.size() == crowd;
        },
        soon));
    waiters.clear();
    for (std::size_t n = 0; n < crowd; ++n) EXPECT_EQ(served.at(n), n);
}

TEST_F(etcd_waiting, readers_far_behind_a_writer_wait_for_it) {
    constexpr std::size_t crowd = 40;
    client one{url()};
    client two{url(), {.hand_over_turns = 1}};
    const claim_options kept{.lease = long_lease};
    shared_mutex writes{one, "n", kept};
    std::atomic<std::size_t> in{0};
    std::vector<std::jthread> readers;
    std::unique_lock writing{writes};
    for (std::size_t n = 0; n < crowd; ++n) {
        readers.emplace_back([&] {
            shared_mutex reads{two, "n", kept};
            reads.lock_shared();
            ++in;
            reads.unlock_shared();
        });
        ASSERT_TRUE(eventually([&] { return keys_of(prefix_) == n + 2; }));
    }
    EXPECT_EQ(in, 0u);
    writing.unlock();
    EXPECT_TRUE(eventually([&] { return in == crowd; }, soon));
}

TEST_F(etcd_waiting, what_a_broken_watch_has_missed_is_read_also_if_it_was_compacted) {
    tcp_proxy proxy{member().port()};
    client locks{url()};
    client waits{url_at(proxy.port())};
    hold mine = locks.acquire("n", {.lease = long_lease});
    auto next =
        std::async(std::launch::async, [&] { return waits.acquire("n", {.wait = long_wait, .lease = long_lease}); });
    ASSERT_TRUE(eventually([&] { return keys_of(prefix_) == 2; }));
    std::this_thread::sleep_for(300ms);  // so that it watches
    proxy.freeze();
    mine.release();
    static_cast<void>(locks.acquire("m", {.lease = long_lease}));
    compact();
    proxy.cut();
    proxy.thaw();
    ASSERT_EQ(next.wait_for(soon), std::future_status::ready);
    EXPECT_TRUE(next.get().valid());
}

TEST_F(etcd_waiting, a_key_that_is_used_again_is_waited_for_again) {
    const client_options each_asks{.hand_over_turns = 1};
    client one{url(), each_asks};
    client two{url(), each_asks};
    hold mine = one.acquire("n", {.lease = long_lease});
    for (int n = 0; n < 30; ++n) {  // each waits for the same two keys
        client& other = n % 2 == 0 ? two : one;
        auto next = std::async(std::launch::async,
                               [&] { return other.acquire("n", {.wait = long_wait, .lease = long_lease}); });
        ASSERT_TRUE(eventually([&] { return keys_of(prefix_) == 2; }));
        mine.release();
        ASSERT_EQ(next.wait_for(soon), std::future_status::ready) << n;
        mine = next.get();
        EXPECT_TRUE(mine.valid()) << n;
    }
}

// Many waiters of one client, one behind the other: each is handed the lock by the one before it.
class etcd_crowd : public etcd_waiting {
protected:
    static constexpr std::size_t crowd = 100;

    // They stand in line in this order.
    void begin(client& locks) {
        for (std::size_t n = 0; n < crowd; ++n) {
            threads_.emplace_back([&, n](const std::stop_token& stop) {
                attempt got = locks.try_acquire("n", {.wait = long_wait, .lease = long_lease, .stop = stop});
                const std::scoped_lock alone{guard_};
                std::error_code lost;
                if (got) served_.emplace_back(n, got->token(lost));
                if (!got) gone_.push_back(n);
            });
            ASSERT_TRUE(eventually([&] { return keys_of(prefix_) == n + 2; })) << n;
        }
    }
    void leaves(std::size_t n) { threads_[n].request_stop(); }
    std::size_t served() {
        const std::scoped_lock alone{guard_};
        return served_.size();
    }
    // With tokens that rise, and nothing stays behind.
    void expect_all_served() {
        EXPECT_TRUE(eventually(
            [&] {
                const std::scoped_lock alone{guard_};
                return served_.size() + gone_.size() == crowd;
            },
            soon));
        threads_.clear();
        std::ranges::sort(served_, {}, &std::pair<std::size_t, token>::second);
        for (std::size_t i = 1; i < served_.size(); ++i) EXPECT_LT(served_[i - 1].second, served_[i].second);
        EXPECT_TRUE(eventually([&] { return keys_of(prefix_) == 0; }));
    }
    void expect_all_in_order() {
        expect_all_served();
        EXPECT_TRUE(std::ranges::is_sorted(served_)) << "in the order of their tokens";
    }

private:
    std::mutex guard_;
    std::vector<std::pair<std::size_t, token>> served_;
    std::vector<std::size_t> gone_;
    std::vector<std::jthread> threads_;
};

TEST_F(etcd_crowd, is_served_in_order_though_every_third_leaves) {
    client other{url()};
    client locks{url(), {.hand_over_turns = 1}};
    hold mine = other.acquire("n", {.lease = long_lease});
    begin(locks);
    mine.release();
    for (std::size_t n = 1; n < crowd; n += 3) leaves(n);
    expect_all_in_order();
    EXPECT_GE(served(), crowd * 2 / 3);
}

TEST_F(etcd_crowd, is_served_in_order_though_its_connection_breaks) {
    tcp_proxy proxy{member().port()};
    client other{url()};
    client locks{url_at(proxy.port()), {.hand_over_turns = 1}};
    hold mine = other.acquire("n", {.lease = long_lease});
    begin(locks);
    mine.release();
    for (std::size_t n = 10; n < crowd; n += 20) {
        EXPECT_TRUE(eventually([&] { return served() >= n; }, soon));
        proxy.cut();
    }
    expect_all_in_order();
    EXPECT_EQ(served(), crowd);
}

TEST_F(etcd_crowd, goes_on_though_keys_are_deleted_by_hand) {
    client other{url()};
    client locks{url(), {.hand_over_turns = 1}};
    hold mine = other.acquire("n", {.lease = long_lease});
    begin(locks);
    mine.release();
    for (int times = 0; times < 5; ++times) {
        const std::string keys = member().command("get --prefix --keys-only --sort-by=CREATE '" + prefix_ + "/n/'");
        const auto second = keys.find_first_not_of('\n', keys.find('\n'));
        if (second != keys.npos)
            member().command("del '" + keys.substr(second, keys.find('\n', second) - second) + "'");
    }
    expect_all_served();
    EXPECT_EQ(served(), crowd) << "who lost its place stands anew";
}

// An upgrade takes the place of its hold: who came before it needs a new number before it holds.
TEST_F(etcd_crowd, of_writers_behind_an_upgrade_has_tokens_that_rise) {
    client other{url()};
    client locks{url(), {.hand_over_turns = 1}};
    shared_mutex first{other, "n", {.lease = long_lease}};
    first.lock_upgradeable();
    std::mutex guard;
    std::vector<token> tokens;
    std::vector<std::jthread> writers;
    for (std::size_t n = 0; n < crowd / 2; ++n) {
        writers.emplace_back([&] {
            shared_mutex writes{locks, "n", {.lease = long_lease}};
            const std::scoped_lock alone{writes};
            const std::scoped_lock noting{guard};
            tokens.push_back(writes.hold().token());
        });
        ASSERT_TRUE(eventually([&] { return keys_of(prefix_) == n + 2; })) << n;
    }
    first.upgrade();
    tokens.push_back(first.hold().token());
    first.unlock();
    writers.clear();
    ASSERT_EQ(tokens.size(), crowd / 2 + 1);
    EXPECT_TRUE(std::ranges::is_sorted(tokens));
    EXPECT_EQ(std::ranges::adjacent_find(tokens), tokens.end());
}

}  // namespace
}  // namespace mortise::inline v0::stores::etcd
