// protocol=setnx: one key, as redis-py and others keep it.
#include "checker/faults/tcp_proxy.hpp"
#include "stores/redis/names.hpp"
#include "stores/redis/servers/single.hpp"
#include "stores/redis/setnx_protocol.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>
#include <mortise/mutex.hpp>
#include <mortise/recursive_mutex.hpp>

#include <future>
#include <sstream>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::inline v0::stores::redis {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

class redis_setnx : public ::testing::Test {
protected:
    std::string url(const std::string& more = "&key_prefix=lock:") {
        return "redis://" + on_.node().address() + "?protocol=setnx" + more;
    }
    // Without the end of the line.
    std::string command(const std::vector<std::string>& words) {
        std::string reply = on_.node().command(words);
        while (reply.ends_with('\n')) reply.pop_back();
        return reply;
    }
    servers::server& node() { return on_.node(); }
    // Whether the key was asked for by a plain SET since note_commands().
    void note_commands() {
        command({"config", "set", "slowlog-max-len", "10000"});
        command({"config", "set", "slowlog-log-slower-than", "0"});
    }
    bool was_set(const std::string& key) {
        return command({"slowlog", "get", "-1"}).find("SET\n" + key + "\n") != std::string::npos;
    }

private:
    servers::single on_;
};

TEST_F(redis_setnx, a_hold_is_one_string_with_a_random_value_and_an_end) {
    client locks{url()};
    hold mine = locks.acquire("orders", {.lease = 20s});
    EXPECT_EQ(command({"keys", "*"}), "lock:orders");
    EXPECT_THAT(command({"get", "lock:orders"}), ::testing::MatchesRegex("[0-9a-f]{32}"));
    const int left = std::stoi(command({"pttl", "lock:orders"}));
    EXPECT_GT(left, 0);
    EXPECT_LE(left, 20'000);
    mine.release();
    EXPECT_EQ(command({"keys", "*"}), "");
}

TEST_F(redis_setnx, without_a_key_prefix_names_are_keys) {
    client locks{url("")};
    const hold mine = locks.acquire("orders");
    EXPECT_EQ(command({"keys", "*"}), "orders");
}

TEST_F(redis_setnx, what_a_key_has_no_room_for_is_refused_by_name) {
    client locks{url()};
    EXPECT_FALSE(locks.promises().tokens);
    EXPECT_EQ(locks.promises().most_capacity, 1u);
    std::error_code ec;
    EXPECT_TRUE(locks.list(ec).empty());
    EXPECT_EQ(ec, errc::unsupported);
    const attempt fenced = locks.try_acquire("orders", {.require_token = true});
    EXPECT_EQ(fenced.reason(), errc::no_token);
}

TEST_F(redis_setnx, a_key_of_somebody_else_keeps_us_out_until_it_goes) {
    client locks{url()};
    command({"set", "lock:orders", "theirs", "nx", "px", "60000"});
    const attempt none = locks.try_acquire("orders");
    EXPECT_EQ(none.reason(), errc::busy);
    std::jthread later{[&] {
        std::this_thread::sleep_for(50ms);
        command({"del", "lock:orders"});
    }};
    EXPECT_TRUE(locks.try_acquire("orders", {.wait = 20s}));
}

TEST_F(redis_setnx, a_key_without_an_end_keeps_us_out_too) {
    client locks{url()};
    command({"setnx", "lock:orders", "theirs"});
    const attempt none = locks.try_acquire("orders", {.wait = 2s});
    EXPECT_EQ(none.reason(), errc::timed_out);
    EXPECT_THAT(none.refusal().describe(), ::testing::Not(HasSubstr("queue"))) << "there is none";
    command({"del", "lock:orders"});
    EXPECT_TRUE(locks.try_acquire("orders", {.wait = 20s}));
}

// The key went and a stranger took it: it is neither extended nor deleted by us.
TEST_F(redis_setnx, neither_a_renewal_nor_a_release_touches_a_key_of_somebody_else) {
    client locks{url()};
    hold mine = locks.acquire("orders", {.lease = 600ms});
    command({"set", "lock:orders", "theirs", "px", "60000"});
    EXPECT_TRUE(testing::eventually([&] { return !mine.valid(); }, 20s));
    EXPECT_EQ(mine.release(), release_result::taken_over);
    EXPECT_EQ(command({"get", "lock:orders"}), "theirs");
    EXPECT_GT(std::stoi(command({"pttl", "lock:orders"})), 1000) << "a renewal gave it our lease";
}

TEST_F(redis_setnx, data_of_another_type_is_left_alone) {
    client locks{url()};
    command({"hset", "lock:orders", "colour", "red"});
    const attempt none = locks.try_acquire("orders");
    EXPECT_EQ(none.reason(), errc::kind_mismatch);
    EXPECT_THAT(none.refusal().describe(), HasSubstr("key_prefix"));
    EXPECT_EQ(command({"hget", "lock:orders", "colour"}), "red");
}

TEST_F(redis_setnx, a_claim_that_comes_after_its_release_takes_nothing) {
    const std::string mark = *setnx_mark_of("lock:orders", {});
    const auto run = [&](const script& which) {
        return command({"eval", which.source, "2", "lock:orders", mark, claim_id{}.hex(), "30000", "0"});
    };
    EXPECT_EQ(run(scripts::all().setnx_release), "1");
    EXPECT_EQ(run(scripts::all().setnx_claim), "R");
    EXPECT_EQ(command({"exists", "lock:orders"}), "0");
    EXPECT_GT(std::stoi(command({"pttl", mark})), 0) << "it stays for ever";
}

TEST_F(redis_setnx, a_free_lock_costs_a_plain_set_and_a_script_and_leaves_nothing) {
    client locks{url()};
    locks.acquire("orders").release();
    const auto calls = [&](const std::string& of) {
        const std::string said = node().field({"info", "commandstats"}, "cmdstat_" + of);
        return said.empty() ? 0 : std::stoi(said.substr(said.find('=') + 1));
    };
    const int scripts = calls("evalsha");
    const int sets = calls("set");
    for (int i = 0; i < 10; ++i) EXPECT_EQ(locks.acquire("orders").release(), release_result::released);
    EXPECT_EQ(calls("evalsha") - scripts, 10);
    EXPECT_EQ(calls("set") - sets, 10) << "a script sets something, too";
    EXPECT_EQ(command({"keys", "*"}), "");
}

// A plain SET lies in the network while its connection breaks, and arrives after the release.
TEST_F(redis_setnx, a_plain_claim_that_comes_after_its_release_is_released_again) {
    testing::tcp_proxy proxy{node().port()};
    client locks{"redis://127.0.0.1:" + std::to_string(proxy.port()) + "?protocol=setnx&key_prefix=lock:&timeout=500ms",
                 {.patience = 1s}};
    locks.acquire("other").release();
    note_commands();
    proxy.delay(testing::way::to_server, 3s);
    EXPECT_FALSE(locks.try_acquire("orders", {.lease = 60s}));
    proxy.delay(testing::way::to_server, 0ms);
    EXPECT_TRUE(testing::eventually([&] { return was_set("lock:orders"); }, 20s));
    EXPECT_TRUE(testing::eventually([&] { return command({"exists", "lock:orders"}) == "0"; }, 20s));
    EXPECT_TRUE(locks.try_acquire("orders", {.wait = 20s}));
}

// A wait is given up while its first request is on the way: the release follows on the same connection.
TEST_F(redis_setnx, a_plain_claim_that_is_slow_is_ended_by_the_release_behind_it) {
    testing::tcp_proxy proxy{node().port()};
    client locks{"redis://127.0.0.1:" + std::to_string(proxy.port()) + "?protocol=setnx&key_prefix=lock:&timeout=20s",
                 {.reply_timeout = 20s, .patience = 20s}};
    locks.acquire("other").release();
    note_commands();
    proxy.delay(testing::way::to_server, 1s);
    EXPECT_FALSE(locks.try_acquire("orders", {.wait = 100ms, .lease = 60s}));
    EXPECT_TRUE(testing::eventually([&] { return was_set("lock:orders"); }, 20s));
    EXPECT_TRUE(testing::eventually([&] { return command({"keys", "*"}).empty(); }, 20s));
}

TEST_F(redis_setnx, marks_lie_in_the_slot_of_their_key) {
    for (const std::string key : {"a", "lock:a", "{a}b", "x{a}b{c}"})
        EXPECT_EQ(slot_of(setnx_mark_of(key, {}).value()), slot_of(key)) << key;
    for (const std::string key : {"", "{", "{}", "a{", "}{", "{}a", "a}b"}) {
        const auto mark = setnx_mark_of(key, {});
        EXPECT_EQ(slot_of(mark.value_or(key)), slot_of(key)) << key;
    }
}

TEST_F(redis_setnx, a_user_with_the_rights_that_the_doctor_names_can_lock_and_no_more) {
    client doctor{url()};
    std::error_code ec;
    std::string rules;
    for (const finding& one : doctor.check(ec))
        if (const auto at = one.remedy.find("resetkeys"); at != std::string::npos) rules = one.remedy.substr(at);
    ASSERT_FALSE(rules.empty());
    std::vector<std::string> words{"acl", "setuser", "ann", "on", ">secret"};
    std::istringstream each{rules};
    for (std::string word; each >> word;) words.push_back(word);
    ASSERT_EQ(command(words), "OK");
    client locks{"redis://ann:secret@" + node().address() + "?protocol=setnx&key_prefix=lock:"};
    hold mine = locks.acquire("orders", {.wait = 10s, .lease = 600ms});
    std::this_thread::sleep_for(700ms);
    EXPECT_TRUE(mine.valid()) << "was not renewed";
    EXPECT_NO_THROW(mine.release());
    client others{"redis://ann:secret@" + node().address() + "?protocol=setnx&key_prefix=other:"};
    EXPECT_EQ(others.try_acquire("orders").reason(), errc::denied);
}

// ---- waiting for the server's notices

class redis_setnx_notices : public ::testing::Test {
protected:
    std::string url(std::uint16_t port, const std::string& user = {}) {
        return "redis://" + user + "127.0.0.1:" + std::to_string(port) + "?protocol=setnx&key_prefix=lock:";
    }
    std::string command(const std::vector<std::string>& words) {
        std::string reply = on_.node().command(words);
        while (reply.ends_with('\n')) reply.pop_back();
        return reply;
    }
    std::uint16_t port() { return on_.node().port(); }
    std::string listeners() { return command({"pubsub", "numsub", channel}); }
    bool await_listeners(int n) {
        return testing::eventually([&] { return listeners() == channel + ("\n" + std::to_string(n)); }, 20s);
    }
    std::uint64_t claims() {
        const std::string said = on_.node().field({"info", "commandstats"}, "cmdstat_evalsha");
        return said.empty() ? 0 : std::stoull(said.substr(said.find('=') + 1));
    }

    const std::string channel = "__keyspace@0__:lock:orders";
    servers::single on_{{"notify-keyspace-events Kgx"}};
};

TEST_F(redis_setnx_notices, a_deletion_wakes_a_waiter_who_asks_for_nothing_meanwhile) {
    client locks{url(port())};
    command({"set", "lock:orders", "theirs", "px", "60000"});
    auto waits = std::async(std::launch::async, [&] { return locks.try_acquire("orders", {.wait = 50s}); });
    ASSERT_TRUE(await_listeners(1));
    std::this_thread::sleep_for(50ms);  // the look that follows the subscription
    const std::uint64_t before = claims();
    std::this_thread::sleep_for(1s);
    EXPECT_LE(claims(), before + 1) << "it polls";
    const auto began = std::chrono::steady_clock::now();
    command({"del", "lock:orders"});
    EXPECT_TRUE(waits.get());
    EXPECT_LT(std::chrono::steady_clock::now() - began, 8s) << "before a third of its lease is over";
    EXPECT_TRUE(await_listeners(0));
}

TEST_F(redis_setnx_notices, waiters_of_one_client_share_a_subscription_and_an_expiry_wakes_them) {
    client locks{url(port()), {.hand_over_turns = 0}};
    command({"set", "lock:orders", "theirs", "px", "1000"});
    std::vector<std::future<bool>> all;
    for (int i = 0; i < 3; ++i)
        all.push_back(std::async(std::launch::async, [&] {
            const attempt got = locks.try_acquire("orders", {.wait = 50s, .hand_over = hand_over::off});
            return static_cast<bool>(got);
        }));
    EXPECT_TRUE(await_listeners(1));
    for (auto& one : all) EXPECT_TRUE(one.get());
    EXPECT_TRUE(await_listeners(0));
}

TEST_F(redis_setnx_notices, the_doctor_says_whether_waiters_are_woken) {
    const auto said = [&](const std::string& user) {
        client locks{url(port(), user)};
        std::error_code ec;
        std::string all;
        for (const finding& one : locks.check(ec)) all += one.what + "; " + one.remedy + "\n";
        return all;
    };
    EXPECT_THAT(said(""), HasSubstr("wakes those who wait (notify-keyspace-events "));
    command({"config", "set", "notify-keyspace-events", "KE"});
    EXPECT_THAT(said(""), HasSubstr("waiters poll: it does not tell of deleted keys; CONFIG SET"));
    command({"acl", "setuser", "ann", "on", ">secret", "~*", "&*", "+@all", "-config"});
    EXPECT_THAT(said("ann:secret@"), HasSubstr("+config|get"));
}

TEST_F(redis_setnx_notices, after_a_reconnect_a_waiter_listens_again) {
    testing::tcp_proxy proxy{port()};
    client locks{url(proxy.port())};
    command({"set", "lock:orders", "theirs", "px", "60000"});
    auto waits = std::async(std::launch::async, [&] { return locks.try_acquire("orders", {.wait = 50s}); });
    ASSERT_TRUE(await_listeners(1));
    proxy.refuse();
    proxy.cut();
    ASSERT_TRUE(await_listeners(0));
    proxy.accept();
    ASSERT_TRUE(await_listeners(1));
    command({"del", "lock:orders"});
    EXPECT_TRUE(waits.get());
}

TEST_F(redis_setnx_notices, without_the_right_to_know_of_them_waiters_poll) {
    command({"acl", "setuser", "ann", "on", ">secret", "~*", "+@all", "-config"});
    client locks{url(port(), "ann:secret@")};
    command({"set", "lock:orders", "theirs", "px", "60000"});
    auto waits = std::async(std::launch::async, [&] { return locks.try_acquire("orders", {.wait = 50s}); });
    const std::uint64_t before = claims();
    EXPECT_TRUE(testing::eventually([&] { return claims() > before + 3; }, 20s));
    EXPECT_TRUE(await_listeners(0));
    command({"del", "lock:orders"});
    EXPECT_TRUE(waits.get());
}

TEST_F(redis_setnx_notices, without_the_right_to_listen_waiters_poll) {
    command({"acl", "setuser", "ann", "on", ">secret", "~*", "+@all", "-subscribe"});
    client locks{url(port(), "ann:secret@")};
    command({"set", "lock:orders", "theirs", "px", "60000"});
    auto waits = std::async(std::launch::async, [&] { return locks.try_acquire("orders", {.wait = 50s}); });
    const std::uint64_t before = claims();
    EXPECT_TRUE(testing::eventually([&] { return claims() > before + 3; }, 20s));
    command({"del", "lock:orders"});
    EXPECT_TRUE(waits.get());
}

// R8, P11: re-entry as a count that a thread keeps beside the lock, here over SET NX with a constant value and a plain DEL. The
// count outlives the lease: its owner believes that it nests while another has the lock, and its last unlock frees that.
TEST_F(redis_setnx, a_count_beside_the_lock_outlives_its_lease) {
    int count = 0;
    const auto lock = [&] {
        const bool mine = count > 0 || command({"set", "lock:orders", "1", "nx", "px", "100"}) == "OK";
        count += mine ? 1 : 0;
        return mine;
    };
    const auto unlock = [&] {
        if (--count == 0) command({"del", "lock:orders"});
    };
    ASSERT_TRUE(lock());
    ASSERT_TRUE(testing::eventually([&] { return command({"exists", "lock:orders"}) == "0"; }, 20s));
    client locks{url()};
    const hold theirs = locks.acquire("orders");
    EXPECT_TRUE(lock()) << "nested in a lock that it has not";
    unlock();
    unlock();
    EXPECT_EQ(command({"exists", "lock:orders"}), "0") << "and another's lock is free";
}

// Ours asks the hold below: a nested lock after the lease is lost, and is not counted.
TEST_F(redis_setnx, a_nested_lock_whose_lease_ran_out_is_refused) {
    client locks{url()};
    client others{url()};
    recursive_mutex mine{locks, "orders", {.lease = 300ms, .renew = renew::off}};
    mine.lock();
    mine.lock();
    const hold theirs = others.acquire("orders", {.wait = 60s});
    std::error_code ec;
    mine.lock(ec);
    EXPECT_EQ(ec, errc::lost);
    mine.unlock(ec);
    mine.unlock(ec);
    EXPECT_EQ(ec, errc::lost);
    EXPECT_EQ(command({"exists", "lock:orders"}), "1") << "the others' lock stays";
    EXPECT_TRUE(theirs.valid());
}

}  // namespace
}  // namespace mortise::inline v0::stores::redis
