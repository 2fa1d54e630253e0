// What only the ZooKeeper store has.
#include "stores/zookeeper/servers/suite.hpp"
#include "support/children.hpp"
#include "support/sanitizers.hpp"

#include <mortise/counting_semaphore.hpp>
#include <mortise/error.hpp>
#include <mortise/mutex.hpp>
#include <mortise/shared_mutex.hpp>

#include <algorithm>
#include <ctime>
#include <future>
#include <mutex>
#include <shared_mutex>
#include <stop_token>
#include <thread>

namespace mortise::inline v0::stores::zookeeper {
namespace {

using namespace servers;

class zookeeper_store : public on_one_server {};

TEST_F(zookeeper_store, tokens_are_the_numbers_of_transactions) {
    client locks{url()};
    const token first = locks.acquire("n").token();
    const token second = locks.acquire("other").token();
    EXPECT_GT(second.counter(), first.counter()) << "of all names together";
    EXPECT_LT(second.counter(), first.counter() + 100);
}

TEST_F(zookeeper_store, who_waited_through_an_upgrade_has_the_larger_token) {
    client locks{url()};
    client others{url()};
    shared_mutex lock{locks, "n"};
    lock.lock_upgradeable();
    auto writer = std::async(std::launch::async, [&] { return shared_mutex(others, "n").acquire({.wait = plenty}); });
    ASSERT_TRUE(eventually([&] { return line("n").size() == 2; }));
    ASSERT_TRUE(lock.try_upgrade_for(plenty));
    const token upgraded = lock.hold().token();
    lock.unlock();
    const hold theirs = writer.get();
    EXPECT_GT(theirs.token(), upgraded) << "though its node is older";
    const auto shown = locks.list();
    ASSERT_EQ(shown.size(), 1u);
    EXPECT_EQ(shown.front().holder.token.counter(), theirs.token().counter());
    std::error_code ec;
    EXPECT_TRUE(locks.break_lock("n", theirs.token(), "by that token", ec)) << ec.message();
    EXPECT_TRUE(eventually([&] { return !theirs.valid(); }));
}

TEST_F(zookeeper_store, another_kind_of_lock_is_refused_with_a_remedy) {
    client locks{url()};
    const hold mine = locks.acquire("n");
    for (const auto patience : {0s, plenty}) {
        const attempt got = counting_semaphore(locks, "n", 3).try_acquire_for(patience);
        EXPECT_EQ(got.reason(), errc::kind_mismatch);
        const std::string message = got.refusal().describe();
        EXPECT_NE(message.find("in use as a mutex, claimed as 3 permits: all who"), std::string::npos) << message;
    }
}

TEST_F(zookeeper_store, odd_and_huge_names_are_names) {
    client locks{url()};
    std::vector<hold> held;
    for (const std::string& name :
         {std::string(200, '/'), std::string("."), std::string(".."), std::string("a/b"), std::string("a"),
          std::string("zookeeper"), std::string("\xee\x80\x80\xef\xbf\xbf")})
        held.push_back(locks.acquire(name, {.wait = plenty}));
    EXPECT_EQ(locks.list().size(), held.size());
    for (const held_lock& one : locks.list())
        EXPECT_TRUE(std::any_of(held.begin(), held.end(), [&](const hold& h) { return h.name() == one.name; }));
}

// The C client's log needs the local time, and a child never gets the lock for that if its parent had it at the fork.
TEST_F(zookeeper_store, serves_children_that_were_forked_while_somebody_asked_for_the_local_time) {
    if (testing::under_asan)
        GTEST_SKIP()
            << "a thread that is always busy may hold the sanitizer's locks at fork, and the child hangs in them";
    client ours{url()};
    EXPECT_TRUE(ours.try_acquire("a"));
    std::jthread busy{[](const std::stop_token& over) {
        const std::time_t now = 0;
        for (std::tm local{}; !over.stop_requested();) ::localtime_r(&now, &local);
    }};
    for (int n = 0; n < 6; ++n) {
        testing::child one{[&] { return client{url()}.try_acquire("b", {.wait = plenty}) ? 0 : 1; }};
        EXPECT_EQ(one.wait(plenty), 0);
    }
}

TEST_F(zookeeper_store, empty_lines_do_not_pile_up) {
    client locks{url()};
    for (int i = 0; i < 20; ++i) static_cast<void>(locks.acquire("n" + std::to_string(i)));
    EXPECT_TRUE(eventually([&] { return operator_.children(root_).empty(); }));
}

TEST_F(zookeeper_store, watches_do_not_pile_up) {
    const auto watches = [] {  // that the server keeps, for all clients; -1: it does not say
        const std::string reply = node().say("wchs");
        const std::string before = "Total watches:";
        const std::size_t at = reply.find(before);
        return at == std::string::npos ? -1 : std::stoi(reply.substr(at + before.size()));
    };
    client one{url()};
    client two{url()};
    client last{url()};
    {
        std::vector<std::jthread> all;
        for (client* each : {&one, &two, &last})
            all.emplace_back([each] {
                mutex lock{*each, "n"};
                for (int i = 0; i < 100; ++i) std::scoped_lock guard{lock};
            });
    }
    EXPECT_TRUE(eventually([&] { return watches() == 0; })) << watches();
}

TEST_F(zookeeper_store, a_line_of_curators_is_kept_in_its_way) {
    client locks{url() + "&protocol=curator"};
    {
        const hold mine = locks.acquire("orders/17");
        const auto nodes = line("orders/17");
        ASSERT_EQ(nodes.size(), 1u);
        EXPECT_EQ(nodes.front().find("_c_"), 0u);
        EXPECT_NE(nodes.front().find("-lock-"), std::string::npos);
        EXPECT_EQ(locks.try_acquire("orders/17").reason(), errc::busy);
        EXPECT_EQ(locks.try_acquire("orders/../17").reason(), errc::unsupported);
        EXPECT_TRUE(mine.valid());
    }
    EXPECT_TRUE(line("orders/17").empty());
    shared_mutex both{locks, "shared"};
    {
        const std::shared_lock reading{both};
        EXPECT_NE(only_node("shared").find("-__READ__"), std::string::npos);
        EXPECT_EQ(shared_mutex(locks, "shared").try_acquire().reason(), errc::busy);
    }
    const std::scoped_lock writing{both};
    EXPECT_NE(only_node("shared").find("-__WRIT__"), std::string::npos);
    counting_semaphore pool{locks, "pool", 3};
    EXPECT_EQ(pool.try_acquire().reason(), errc::unsupported);
}

TEST_F(zookeeper_store, a_path_of_curators_may_have_data_of_its_own) {
    client locks{url() + "&protocol=curator"};
    client others{url() + "&protocol=curator"};
    hold mine = locks.acquire("orders");
    auto waits = std::async(std::launch::async, [&] { return others.try_acquire("orders", {.wait = plenty}); });
    EXPECT_TRUE(eventually([&] { return line("orders").size() == 2; }));
    operator_.set(root_ + "/orders", "theirs");
    mine.release();
    EXPECT_TRUE(waits.get());
    EXPECT_EQ(operator_.data(root_ + "/orders"), "theirs");
}

TEST_F(zookeeper_store, locks_of_curators_are_listed_wherever_their_paths_lead) {
    client locks{url() + "&protocol=curator"};
    const hold above = locks.acquire("orders");
    const hold below = locks.acquire("orders/eu/17");
    const hold beside = locks.acquire("stock");
    std::vector<std::string> names;
    for (const held_lock& one : locks.list()) {
        names.push_back(one.name);
        EXPECT_EQ(one.holder.pid, ::getpid()) << one.name;
    }
    EXPECT_EQ(names, (std::vector<std::string>{"orders", "orders/eu/17", "stock"}));
    EXPECT_EQ(locks.list().at(1).holder.token, below.token());
}

}  // namespace
}  // namespace mortise::inline v0::stores::zookeeper
