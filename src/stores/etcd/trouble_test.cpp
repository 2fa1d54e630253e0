// Bad days of one member, and of the network before it.
#include "checker/faults/tcp_proxy.hpp"
#include "stores/etcd/servers/suite.hpp"
#include "support/children.hpp"

#include <mortise/counting_semaphore.hpp>
#include <mortise/error.hpp>
#include <mortise/fenced.hpp>
#include <mortise/shared_mutex.hpp>

#include <algorithm>
#include <future>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>

namespace mortise::inline v0::stores::etcd {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using ::testing::HasSubstr;
using testing::tcp_proxy;
using testing::way;

class etcd_trouble : public servers::on_members<1> {
protected:
    static servers::server& member() { return all().member(0); }

    static void revoke_all_leases() {
        std::istringstream reply{member().command("lease list")};
        for (std::string word; reply >> word;)
            if (word.size() >= 15) member().command("lease revoke " + word);
    }
};

// The bytes of a client's first answers, its lease and its grant are cut off one after the other.
TEST_F(etcd_trouble, an_answer_that_is_lost_leaves_no_orphan_and_nobody_waits_for_itself) {
    client onlooker{url()};
    token last{};
    for (const std::size_t bytes : {0u, 30u, 60u, 90u, 120u, 150u, 180u, 240u, 300u, 400u, 600u, 900u}) {
        tcp_proxy proxy{member().port()};
        client locks{url_at(proxy.port())};
        proxy.cut_after(way::to_client, bytes);
        hold mine = locks.acquire("n", {.wait = 10s});
        EXPECT_GT(mine.token(), last) << bytes;
        last = mine.token();
        EXPECT_EQ(onlooker.list().size(), 1u) << bytes;
        EXPECT_EQ(onlooker.list().front().waiting, 0u) << bytes;
        EXPECT_EQ(mine.release(), release_result::released) << bytes;
        EXPECT_TRUE(onlooker.list().empty()) << bytes;
    }
}

TEST_F(etcd_trouble, a_try_ends_at_once_where_nobody_is_there_but_not_because_one_of_several_is_away) {
    const client_options once{.patience = 1h, .try_patience = 0s};
    for (const char* nobody : {"127.0.0.1:1", "127.0.0.1:1,127.0.0.1:2"})
        EXPECT_EQ(client("etcd://" + std::string(nobody), once).try_acquire("n").reason(), errc::unreachable);
    client one_away{"etcd://127.0.0.1:1,127.0.0.1:" + std::to_string(member().port()), once};
    const attempt got = one_away.try_acquire("n");
    ASSERT_TRUE(got) << got.refusal().describe();
    tcp_proxy silent{member().port()};
    silent.freeze();
    client one_silent{"etcd://127.0.0.1:" + std::to_string(silent.port()) +
                          ",127.0.0.1:" + std::to_string(member().port()) + "?timeout=300ms",
                      once};
    const attempt late = one_silent.try_acquire("m");
    EXPECT_TRUE(late) << late.refusal().describe();
}

TEST_F(etcd_trouble, an_answer_to_a_release_that_is_lost_is_given_again) {
    for (const std::size_t bytes : {0u, 5u, 15u, 40u, 60u}) {
        tcp_proxy proxy{member().port()};
        client locks{url_at(proxy.port()), {.release_wait = 10s}};
        hold mine = locks.acquire("n", {.wait = 10s});
        proxy.cut_after(way::to_client, bytes);
        EXPECT_EQ(mine.release(), release_result::released) << bytes;
    }
    EXPECT_EQ(keys_of(prefix_), 0u);
}

TEST_F(etcd_trouble, an_upgrade_whose_answer_is_lost_is_one_or_the_other) {
    client others{url()};
    for (const std::size_t bytes : {0u, 5u, 20u, 40u, 60u, 100u, 160u}) {
        tcp_proxy proxy{member().port()};
        client locks{url_at(proxy.port())};
        shared_mutex lock{locks, "n"};
        ASSERT_TRUE(lock.try_lock_upgradeable_for(20s)) << bytes;
        const token reading = lock.hold().token();
        proxy.cut_after(way::to_client, bytes);
        ASSERT_TRUE(lock.try_upgrade_for(20s)) << bytes;
        EXPECT_GT(lock.hold().token(), reading) << bytes;
        EXPECT_EQ(others.list().size(), 1u) << bytes;
        EXPECT_EQ(shared_mutex(others, "n").try_acquire_shared().reason(), errc::busy) << bytes;
        std::this_thread::sleep_for(300ms);  // a loss would be told by now
        EXPECT_TRUE(lock.hold().valid()) << bytes;
        lock.unlock();
        EXPECT_TRUE(eventually([&] { return keys_of(prefix_) == 0; })) << bytes << ": also the floor has gone";
    }
}

TEST_F(etcd_trouble, who_waited_through_an_upgrade_has_a_larger_token) {
    client locks{url()};
    client others{url()};
    shared_mutex lock{locks, "n"};
    lock.lock_upgradeable();
    std::promise<token> written;
    std::jthread writer{[&] {
        shared_mutex same{others, "n"};
        same.lock();
        written.set_value(same.hold().token());
        same.unlock();
    }};
    ASSERT_TRUE(eventually([&] { return keys_of(prefix_) == 2; }));
    lock.upgrade();
    const token upgraded = lock.hold().token();
    lock.unlock();
    EXPECT_GT(written.get_future().get(), upgraded);
    writer.join();
    EXPECT_TRUE(eventually([&] { return keys_of(prefix_) == 0; }));
}

TEST_F(etcd_trouble, a_broken_connection_is_made_anew_and_the_hold_goes_on) {
    tcp_proxy proxy{member().port()};
    client locks{url_at(proxy.port())};
    client others{url()};
    const hold mine = locks.acquire("n", {.lease = 6s});
    for (int n = 0; n < 12; ++n) {
        std::this_thread::sleep_for(700ms);
        proxy.cut();
        ASSERT_TRUE(mine.valid());
        ASSERT_FALSE(others.try_acquire("n"));
    }
}

TEST_F(etcd_trouble, in_silence_the_hold_ends_before_the_lock_is_free) {
    tcp_proxy proxy{member().port()};
    client locks{url_at(proxy.port())};
    client others{url()};
    hold mine = locks.acquire("n", {.lease = 2s});
    proxy.freeze();
    attempt theirs = others.try_acquire("n", {.wait = 20s});
    const bool believed = mine.valid();
    ASSERT_TRUE(theirs);
    EXPECT_FALSE(believed) << "two held it at the same time";
    EXPECT_GT(theirs->token(), mine.token());
    EXPECT_TRUE(eventually([&] { return mine.lost().stop_requested(); }));
    proxy.thaw();
}

TEST_F(etcd_trouble, a_waiter_whose_lease_ended_waits_on_as_another) {
    tcp_proxy proxy{member().port()};
    client locks{url()};
    client waits{url_at(proxy.port())};
    hold mine = locks.acquire("n");
    auto theirs = std::async(std::launch::async, [&] { return waits.acquire("n", {.wait = 30s, .lease = 1s}); });
    ASSERT_TRUE(eventually([&] { return keys_of(prefix_) == 2; }));
    proxy.freeze();
    ASSERT_TRUE(eventually([&] { return keys_of(prefix_) == 1; })) << "etcd has ended its lease";
    proxy.thaw();
    ASSERT_TRUE(eventually([&] { return keys_of(prefix_) == 2; })) << "it is in line again";
    mine.release();
    EXPECT_TRUE(theirs.get().valid());
}

TEST_F(etcd_trouble, a_lease_that_an_operator_revokes_is_told_at_once_and_the_register_refuses_its_owner) {
    client locks{url()};
    client others{url()};
    fenced::register_of<int> stock{5};
    hold mine = locks.acquire("n");
    hold too = locks.acquire("m");
    ASSERT_TRUE(stock.seal(mine.token()));
    const auto before = boot_clock::now();
    revoke_all_leases();
    EXPECT_TRUE(eventually([&] { return !mine.valid() && !too.valid() && mine.lost().stop_requested(); }, 8s));
    EXPECT_LT(boot_clock::now() - before, 9s) << "the lease would have gone on for half a minute";
    const hold theirs = others.acquire("n", {.wait = 10s});
    EXPECT_GT(theirs.token(), mine.token());
    EXPECT_TRUE(stock.seal(theirs.token()));
    EXPECT_FALSE(stock.write(mine.token(), 4)) << "too late";
    EXPECT_TRUE(stock.write(theirs.token(), 3));
    EXPECT_EQ(mine.release(), release_result::taken_over);
    EXPECT_TRUE(locks.try_acquire("m", {.wait = 10s})) << "with a new lease";
}

TEST_F(etcd_trouble, a_waiter_whose_lease_an_operator_revokes_gets_the_lock_all_the_same) {
    client locks{url()};
    client waits{url()};
    hold mine = locks.acquire("n");
    auto theirs = std::async(std::launch::async, [&] { return waits.acquire("n", {.wait = 30s, .lease = 3s}); });
    ASSERT_TRUE(eventually([&] { return keys_of(prefix_) == 2; }));
    revoke_all_leases();
    EXPECT_TRUE(theirs.get().valid());
}

TEST_F(etcd_trouble, a_member_that_starts_again_knows_who_held_what) {
    client locks{url("&timeout=500ms")};
    client others{url("&timeout=500ms")};
    const hold mine = locks.acquire("n");
    const auto before = mine.token();
    member().kill();
    member().restart();
    EXPECT_TRUE(mine.valid());
    EXPECT_FALSE(others.try_acquire("n"));
    EXPECT_EQ(mine.token(), before);
}

std::string complaint_of(const std::string& address) {
    try {
        static_cast<void>(client{address, {.patience = 2s}}.acquire("n", {.wait = 5s}));
    } catch (const error& e) {
        EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << e.what();
        return e.code().message() + ": " + e.what();
    }
    return "granted";
}

TEST_F(etcd_trouble, nobody_there_is_told_within_patience) {
    const auto before = boot_clock::now();
    EXPECT_THAT(complaint_of(url_at(1)), HasSubstr("did not answer"));
    EXPECT_LT(boot_clock::now() - before, 20s);
}

TEST_F(etcd_trouble, a_user_where_there_are_none_is_told_at_once) {
    EXPECT_THAT(complaint_of("etcd://ann:secret@" + member().address()), HasSubstr("leave the user out"));
}

TEST_F(etcd_trouble, tls_where_there_is_none_is_told) {
    EXPECT_THAT(complaint_of("etcds://" + member().address()), HasSubstr(member().address()));
}

TEST_F(etcd_trouble, the_longest_name_of_the_strangest_bytes_is_a_name_like_others) {
    client locks{url()};
    const std::string name(200, '/');
    const hold mine = locks.acquire(name, {.wait = 10s});
    EXPECT_EQ(locks.list().front().name, name);
}

TEST_F(etcd_trouble, another_kind_of_lock_is_refused_with_a_remedy) {
    client locks{url()};
    const hold mine = locks.acquire("n");
    for (const auto patience : {0s, 10s}) {
        const attempt got = counting_semaphore(locks, "n", 3).try_acquire_for(patience);
        EXPECT_EQ(got.reason(), errc::kind_mismatch);
        EXPECT_THAT(got.refusal().describe(), HasSubstr("in use as a mutex, claimed as 3 permits: all who"));
    }
}

class etcd_users : public servers::on_members<1> {};

TEST_F(etcd_users, need_the_password_and_the_rights) {
    servers::server& member = all().member(0);
    for (const char* words : {"user add root:root", "role add root", "user grant-role root root",
                              "user add ann:open-sesame", "role add locks", "user grant-role ann locks",
                              "role grant-permission locks --prefix=true readwrite mortise/", "auth enable"})
        member.command(words);
    const std::string at = "@" + member.address();
    {
        client locks{"etcd://ann:open-sesame" + at};
        client others{"etcd://ann:open-sesame" + at};
        hold mine = locks.acquire("n", {.wait = 10s});
        auto next = std::async(std::launch::async, [&] { return others.acquire("n", {.wait = 20s}); });
        EXPECT_TRUE(eventually([&] { return locks.list().front().waiting == 1; }));
        EXPECT_EQ(mine.release(), release_result::released);
        EXPECT_TRUE(next.get().valid());
    }
    EXPECT_THAT(complaint_of("etcd://ann:wrong" + at), HasSubstr("invalid user ID or password"));
    EXPECT_THAT(complaint_of("etcd://ann:wrong" + at), ::testing::Not(HasSubstr("wrong")));
    EXPECT_THAT(complaint_of("etcd://" + member.address()), HasSubstr("user name is empty; name a user"));
    EXPECT_THAT(complaint_of("etcd://ann:open-sesame" + at + "?prefix=other"),
                HasSubstr("the keys of the prefix other"));
    EXPECT_THAT(complaint_of("etcd://ann:open-sesame" + at + "?protocol=concurrency"),
                HasSubstr("permission denied; the user needs the right to read and write the keys of the lock"));
    const auto works = [](const std::string& address) {
        std::error_code ec;
        const std::vector<finding> found = client{address}.check(ec);
        return !ec && std::ranges::none_of(found, [](const finding& one) { return one.is == finding::grade::problem; });
    };
    EXPECT_TRUE(works("etcd://ann:open-sesame" + at));
    EXPECT_FALSE(works("etcd://ann:wrong" + at));
    EXPECT_FALSE(works("etcd://" + member.address()));
    EXPECT_FALSE(works("etcd://ann:open-sesame" + at + "?prefix=other"));
}

TEST_F(etcd_trouble, a_child_of_fork_has_a_client_of_its_own_and_the_parent_keeps_its_hold) {
    client locks{url()};
    hold mine = locks.acquire("n");
    testing::child other{[&] {
        client own{url()};
        return own.try_acquire("n").reason() == errc::busy && own.try_acquire("of the child") ? 0 : 1;
    }};
    EXPECT_EQ(other.wait(), 0);
    EXPECT_TRUE(mine.valid());
    EXPECT_EQ(mine.release(), release_result::released);
}

}  // namespace
}  // namespace mortise::inline v0::stores::etcd
