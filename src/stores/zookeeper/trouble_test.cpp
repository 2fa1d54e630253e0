// Faults: lost replies, expired sessions, servers that are silent, absent or not ours.
#include "checker/faults/tcp_proxy.hpp"
#include "stores/zookeeper/servers/suite.hpp"
#include "support/recording_observer.hpp"

#include <mortise/error.hpp>
#include <mortise/fenced.hpp>
#include <mortise/shared_mutex.hpp>

#include <algorithm>
#include <atomic>
#include <future>
#include <thread>

namespace mortise::inline v0::stores::zookeeper {
namespace {

using namespace servers;
using testing::tcp_proxy;
using testing::way;

class zookeeper_trouble : public on_one_server {
protected:
    tcp_proxy network_{node().port()};
    // A session that a test can see the end of. When an operator ends one, the server may drop what its client sends, and that
    // knows after two thirds of the time.
    static constexpr const char* brief = "5s";
    std::string bad_url(const std::string& session = lasting) const { return url(network_.port(), session); }
};

TEST_F(zookeeper_trouble, a_lost_reply_leaves_no_node_behind_and_nobody_waits_for_himself) {
    client locks{bad_url()};
    client others{url()};
    static_cast<void>(locks.acquire("first"));
    int n = 0;
    for (const way which : {way::to_client, way::to_server})
        for (const std::size_t bytes : {0u, 1u, 5u, 19u, 20u, 60u, 100u, 150u, 200u}) {
            const std::string name = "n" + std::to_string(++n);
            static_cast<void>(
                others.acquire(name));  // so that the line is there, and the next reply is that to its node
            network_.cut_after(which, bytes);
            attempt got = locks.try_acquire(name, {.wait = plenty});
            ASSERT_TRUE(got) << got.refusal().describe();
            EXPECT_EQ(line(name).size(), 1u) << bytes;
            EXPECT_EQ(others.try_acquire(name).reason(), errc::busy);
            network_.cut_after(which, bytes);
            const release_result result = got->release();
            EXPECT_TRUE(result == release_result::released || result == release_result::unknown) << to_string(result);
            EXPECT_TRUE(others.try_acquire(name, {.wait = plenty})) << bytes;
            EXPECT_TRUE(eventually([&] { return line(name).empty(); })) << bytes;
        }
    EXPECT_GT(network_.connected(), 10u) << "the cuts did bite";
}

TEST_F(zookeeper_trouble, a_server_that_keeps_an_answer_to_itself_is_asked_again) {
    const auto seen = std::make_shared<testing::recording_observer>();
    client locks{bad_url(), {.reply_timeout = 100ms, .patience = plenty, .observer = seen}};
    static_cast<void>(locks.acquire("first"));
    network_.swallow(way::to_client);
    auto waits = std::async(std::launch::async, [&] { return locks.try_acquire("n", {.wait = plenty}); });
    ASSERT_TRUE(seen->wait_for(event_kind::retried, 1, plenty));
    const std::size_t sent = network_.bytes_seen(way::to_server);
    ASSERT_TRUE(seen->wait_for(event_kind::retried, 10, plenty));
    EXPECT_TRUE(eventually([&] { return network_.bytes_seen(way::to_server) > sent; }))
        << "a server that has overslept it wakes up only so";
    network_.swallow(way::to_client, false);
    network_.cut();
    const attempt got = waits.get();
    EXPECT_TRUE(got) << got.refusal().describe();
}

TEST_F(zookeeper_trouble, a_listing_that_is_cut_off_is_none) {
    client locks{url()};
    const hold mine = locks.acquire("listed");
    bool whole = false;
    int failed = 0;
    for (std::size_t bytes = 0; !whole && bytes <= 20000; bytes += 20) {
        client looks{bad_url()};
        ASSERT_TRUE(looks.try_acquire("other", {.wait = plenty}));  // so that it is connected
        network_.cut_after(way::to_client, bytes);
        try {
            const std::vector<held_lock> all = looks.list();
            whole = true;
            EXPECT_TRUE(std::ranges::any_of(all, [](const held_lock& one) { return one.name == "listed"; })) << bytes;
        } catch (const error&) {
            ++failed;
        }
    }
    EXPECT_GT(failed, 0) << "the cuts did bite";
    EXPECT_TRUE(whole);
}

TEST_F(zookeeper_trouble, a_cut_connection_is_no_lost_lock) {
    client locks{bad_url("10s")};
    const hold mine = locks.acquire("n");
    const token before = mine.token();
    for (int i = 0; i < 3; ++i) {
        network_.cut();
        EXPECT_TRUE(eventually([&] { return network_.connections() > 0; }));
        EXPECT_TRUE(mine.valid());
    }
    std::this_thread::sleep_for(5s);  // longer than what a hold is given at a time
    EXPECT_TRUE(mine.valid()) << "renewed over the new connection";
    EXPECT_EQ(mine.token(), before);
    EXPECT_EQ(line("n").size(), 1u);
}

TEST_F(zookeeper_trouble, a_silent_server_ends_a_hold_before_it_frees_the_lock) {
    client locks{bad_url(brief)};
    client others{url()};
    const hold mine = locks.acquire("n");
    network_.swallow(way::to_server);
    network_.swallow(way::to_client);
    attempt theirs = others.try_acquire("n", {.wait = plenty});
    const bool still_believed = mine.valid();
    ASSERT_TRUE(theirs) << theirs.refusal().describe();
    EXPECT_FALSE(still_believed);
    EXPECT_GT(theirs->token(), mine.token());
}

TEST_F(zookeeper_trouble, an_ended_session_is_a_lost_hold_and_the_register_refuses_its_owner) {
    client locks{url(node().port(), brief)};
    client others{url()};
    fenced::register_of<int> stock{5};
    const hold mine = locks.acquire("n");
    ASSERT_TRUE(stock.seal(mine.token()));
    operator_.end_session(operator_.owner(only_node("n")));
    EXPECT_TRUE(eventually([&] { return !mine.valid() && mine.lost().stop_requested(); }));
    attempt theirs = others.try_acquire("n", {.wait = plenty});
    ASSERT_TRUE(theirs) << theirs.refusal().describe();
    EXPECT_GT(theirs->token(), mine.token());
    EXPECT_TRUE(stock.seal(theirs->token()));
    EXPECT_FALSE(stock.write(mine.token(), 4)) << "too late";
    EXPECT_TRUE(locks.try_acquire("m", {.wait = plenty})) << "the client goes on with a new session";
}

TEST_F(zookeeper_trouble, a_waiter_whose_session_ends_is_in_line_again_and_served) {
    client locks{url()};
    client others{url(node().port(), brief)};
    hold mine = locks.acquire("n");
    auto next = std::async(std::launch::async, [&] { return others.acquire("n", {.wait = plenty}); });
    ASSERT_TRUE(eventually([&] { return line("n").size() == 2; }));
    const auto waiter = [&]() -> std::string {
        for (const std::string& one : line("n"))
            if (!one.ends_with("0000000000")) return one;
        return {};
    };
    const std::string before = waiter();
    operator_.end_session(operator_.owner(root_ + "/n/" + before));
    EXPECT_TRUE(eventually([&] { return !waiter().empty() && waiter() != before; }))
        << "somebody else, in the same line";
    EXPECT_TRUE(mine.valid());
    EXPECT_EQ(mine.release(), release_result::released);
    EXPECT_TRUE(next.get().valid());
    EXPECT_TRUE(eventually([&] { return line("n").empty(); }));
}

TEST_F(zookeeper_trouble, a_node_that_is_removed_by_hand_is_a_lost_hold) {
    client locks{url()};
    const hold mine = locks.acquire("n");
    EXPECT_TRUE(mine.valid());
    operator_.remove(only_node("n"));
    EXPECT_TRUE(eventually([&] { return !mine.valid() && mine.lost().stop_requested(); }));
    attempt anew = locks.try_acquire("n", {.wait = plenty});
    ASSERT_TRUE(anew);
    EXPECT_GT(anew->token(), mine.token());
}

TEST_F(zookeeper_trouble, a_client_that_gave_up_a_hold_while_cut_off_does_not_keep_its_node) {
    client locks{bad_url(brief)};
    client others{url()};
    const hold mine = locks.acquire("n", {.lease = 300ms});  // renewed; its session lives much longer
    network_.freeze();
    EXPECT_TRUE(eventually([&] { return !mine.valid(); }));
    network_.thaw();
    EXPECT_TRUE(others.try_acquire("n", {.wait = plenty}));
}

TEST_F(zookeeper_trouble, a_client_goes_in_time_while_nobody_answers) {
    auto locks = std::make_unique<client>(bad_url(brief));
    const hold mine = locks->acquire("n");
    network_.freeze();
    const auto before = boot_clock::now();
    locks.reset();
    EXPECT_LT(boot_clock::now() - before, 10s);
    EXPECT_FALSE(mine.valid());
    network_.thaw();
    EXPECT_TRUE(client{url()}.try_acquire("n", {.wait = plenty}));
}

TEST_F(zookeeper_trouble, an_upgrade_whose_reply_is_lost_is_one_or_the_other) {
    client locks{bad_url()};
    client others{url()};
    shared_mutex lock{locks, "n"};
    for (const std::size_t bytes : {0u, 1u, 20u, 60u, 150u, 250u}) {
        ASSERT_TRUE(lock.try_lock_upgradeable_for(plenty));
        const token reading = lock.hold().token();
        network_.cut_after(way::to_client, bytes);
        ASSERT_TRUE(lock.try_upgrade_for(plenty));
        EXPECT_GT(lock.hold().token(), reading);
        EXPECT_EQ(line("n").size(), 1u) << bytes;
        EXPECT_EQ(shared_mutex(others, "n").try_acquire_shared().reason(), errc::busy);
        std::this_thread::sleep_for(200ms);  // a loss would have been reported by now
        EXPECT_TRUE(lock.hold().valid());
        lock.unlock();
        EXPECT_TRUE(eventually([&] { return line("n").empty(); })) << bytes;
    }
}

TEST_F(zookeeper_trouble, another_user_is_denied_in_one_line) {
    client ours{url(node().port(), lasting, "ann:secret@")};
    client others{url(node().port(), lasting, "bob:sesame@")};
    const hold mine = ours.acquire("n");
    const attempt got = others.try_acquire("n", {.wait = plenty});
    EXPECT_EQ(got.reason(), errc::denied) << got.refusal().describe();
    const std::string message = got.refusal().describe();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_EQ(message.find("sesame"), std::string::npos) << message;
    EXPECT_TRUE(mine.valid());
    EXPECT_EQ(client{url(node().port(), lasting, "ann:secret@")}.try_acquire("n").reason(), errc::busy);
}

TEST_F(zookeeper_trouble, the_doctor_sees_whose_the_nodes_are_and_leaves_none) {
    const auto problems = [](const std::string& address) {
        std::string all;
        std::error_code ec;
        for (const finding& one : client{address}.check(ec))
            if (one.is == finding::grade::problem) all += one.what + "; " + one.remedy + "\n";
        EXPECT_FALSE(ec) << ec.message();
        return all;
    };
    EXPECT_EQ(problems(url()), "") << "the path is not there yet";
    EXPECT_FALSE(std::ranges::count(operator_.children("/"), root_.substr(1))) << "nor is it now";
    client ann{url(node().port(), lasting, "ann:secret@")};
    const hold mine = ann.acquire("n");
    EXPECT_EQ(problems(url(node().port(), lasting, "ann:secret@")), "");
    EXPECT_EQ(ann.list().size(), 1u);
    for (const std::string credentials : {"", "bob:sesame@"}) {
        const std::string message = problems(url(node().port(), lasting, credentials));
        EXPECT_NE(message.find(root_), std::string::npos) << message;
        EXPECT_NE(message.find("give the user who created them"), std::string::npos) << message;
    }
    operator_.make_to_read("/for_readers");
    const std::string message = problems("zookeeper://" + node().address() + "/for_readers/locks");
    EXPECT_NE(message.find("'/for_readers/'"), std::string::npos) << message;
}

TEST_F(zookeeper_trouble, a_host_that_is_not_there_and_one_that_is_silent_are_told_apart) {
    const auto complaint_of = [](const std::string& address) -> std::string {
        try {
            static_cast<void>(client{address}.list());
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::unreachable);
            return e.what();
        }
        return "none";
    };
    const std::string label(64, 'x');  // longer than a name can be, so nobody has to be asked
    const std::string absent = complaint_of("zookeeper://" + label + ".invalid");
    EXPECT_NE(absent.find("cannot find the host " + label), std::string::npos) << absent;
    network_.freeze();
    // We give up after a quarter of the session; the C client after a third, and then it does not say why.
    const std::string silent = complaint_of(url(network_.port(), "4s"));
    EXPECT_NE(silent.find(std::to_string(network_.port()) + " does not answer"), std::string::npos) << silent;
}

TEST_F(zookeeper_trouble, nobody_there_is_said_in_one_line_and_in_time) {
    network_.refuse();
    network_.cut();
    client locks{bad_url(brief), {.patience = 1s}};
    const auto before = boot_clock::now();
    const attempt got = locks.try_acquire("n", {.wait = plenty});
    EXPECT_EQ(got.reason(), errc::unreachable);
    EXPECT_LT(boot_clock::now() - before, 15s);
    const std::string message = got.refusal().describe();
    EXPECT_NE(message.find(std::to_string(network_.port())), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    try {
        static_cast<void>(locks.list());
        ADD_FAILURE() << "listed without a reply";
    } catch (const error& e) {
        EXPECT_NE(std::string(e.what()).find(std::to_string(network_.port())), std::string::npos) << e.what();
    }
    network_.accept();
    EXPECT_TRUE(eventually([&] { return bool(locks.try_acquire("n", {.wait = plenty})); }, plenty))
        << "and it goes on when somebody is";
}

TEST(zookeeper_limits, a_server_that_takes_no_more_connections_of_this_machine_says_which_limit_it_is) {
    ensemble full{1, 2};
    const std::string address = "zookeeper://" + full.addresses() + "/locks";
    client first{address};
    client second{address};
    const hold mine = first.acquire("n");
    EXPECT_EQ(second.list().size(), 1u);
    client third{address, {.patience = 1ms}};
    const attempt got = third.try_acquire("n");
    EXPECT_EQ(got.reason(), errc::unreachable);
    EXPECT_NE(got.refusal().describe().find("maxClientCnxns"), std::string::npos) << got.refusal().describe();
    std::error_code ec;
    std::string found;
    for (const finding& one : client{address}.check(ec)) found += one.what + " -> " + one.remedy + "\n";
    EXPECT_NE(found.find("raise maxClientCnxns"), std::string::npos) << found;
}

TEST_F(zookeeper_trouble, a_try_ends_at_once_where_nobody_is_there_but_not_because_one_of_several_is_away) {
    const client_options once{.patience = 1h, .try_patience = 0s};
    for (const char* nobody : {"127.0.0.1:1", "127.0.0.1:1,127.0.0.1:2"})
        EXPECT_EQ(client("zookeeper://" + std::string(nobody), once).try_acquire("n").reason(), errc::unreachable);
    for (int i = 0; i < 8; ++i) {  // the C client begins with any of them
        client locks{"zookeeper://127.0.0.1:1," + node().address() + root_ + "?session=" + lasting, once};
        const attempt got = locks.try_acquire("n");
        ASSERT_TRUE(got) << got.refusal().describe();
    }
}

TEST_F(zookeeper_trouble, how_long_a_lock_is_held_is_not_made_up) {
    client locks{url()};
    client others{url()};
    client heir{url()};
    const hold own = others.acquire("own");  // it has claimed something itself
    hold first = locks.acquire("n");
    auto next = std::async(std::launch::async, [&] { return heir.acquire("n", {.wait = plenty}); });
    ASSERT_TRUE(eventually([&] { return line("n").size() == 2; }));
    std::this_thread::sleep_for(1s);
    first.release();
    const hold second = next.get();
    EXPECT_EQ(others.try_acquire("n").refusal().holder->held_for, std::nullopt) << "the wait is no part of it";
    for (const held_lock& one : others.list()) {
        EXPECT_EQ(one.holder.held_for, std::nullopt);
        EXPECT_EQ(one.lease_left, std::nullopt);
    }
}

}  // namespace
}  // namespace mortise::inline v0::stores::zookeeper
