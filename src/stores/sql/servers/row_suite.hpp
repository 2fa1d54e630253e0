// What the strategy `row` must stand on every server. A store's test derives a suite that says how its server is asked, and
// instantiates these.
#pragma once

#include "base/push_grace.hpp"
#include "checker/faults/tcp_proxy.hpp"
#include "stores/sql/row_line.hpp"
#include "support/children.hpp"
#include "support/crowd.hpp"
#include "support/late_requests.hpp"
#include "support/recording_observer.hpp"
#include "support/sanitizers.hpp"
#include "support/shared_page.hpp"
#include "support/silence.hpp"
#include "support/small_disk.hpp"
#include "support/waiting.hpp"

#include <mortise/config.hpp>
#include <mortise/mortise.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <future>
#include <iostream>
#include <memory>
#include <mutex>
#include <random>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <unistd.h>

namespace mortise::inline v0::stores::sql::servers {

using namespace std::chrono_literals;
using testing::eventually;

// Claims are refused by the server's own number, holds stay, and once there is room all goes on.
inline void survives_a_full_disk(const std::string& url, const testing::small_disk& disk, const std::string& number) {
    client locks{url, {.patience = 1s}};
    std::vector<hold> all;
    all.push_back(locks.acquire("first"));
    disk.fill();
    std::string refused;
    for (int n = 0; n < 20'000 && refused.empty(); ++n) {
        attempt got = locks.try_acquire("n" + std::to_string(n));
        if (got) {
            all.push_back(*std::move(got));
            continue;
        }
        refused = got.refusal().describe();
        EXPECT_EQ(got.reason(), errc::exhausted) << refused;
    }
    EXPECT_NE(refused.find(number), std::string::npos) << refused << " after " << all.size();
    for (const hold& one : all) ASSERT_TRUE(one.valid());
    client others{url, {.patience = 1s}};
    EXPECT_FALSE(others.try_acquire("first")) << "its row is there";
    disk.free();
    EXPECT_TRUE(eventually([&] { return static_cast<bool>(locks.try_acquire("room")); }));
    EXPECT_EQ(all.size(), locks.list().size());
    for (hold& one : all) ASSERT_EQ(one.release(), release_result::released);
    EXPECT_GT(others.acquire("first").token(), all.front().token());
}

// A row of the table: its id in hex, confirmed, its number, and its name to the end.
inline spi::stored_claim record_in(const std::string& row) {
    std::istringstream in{row};
    std::string id;
    int holds = 0;
    spi::stored_claim one;
    in >> id >> holds >> one.where >> std::ws;
    std::getline(in, one.name);
    one.id = id_in_hex(id);
    one.holds = holds != 0;
    return one;
}

// What a suite has to say of its server.
class row_host {
public:
    virtual ~row_host() = default;
    virtual std::uint16_t port() const = 0;
    // Of the test's own tables, by this port and with further options, "timeout=1s".
    virtual std::string url(std::uint16_t port, const std::string& more = {}) const = 0;
    virtual std::size_t count(const std::string& where) const = 0;  // of claims
    virtual std::size_t sessions() const = 0;                       // of clients
    virtual void end_sessions() const = 0;                          // KILL, pg_terminate_backend
    virtual std::vector<spi::stored_claim> records() const = 0;
    virtual std::string url_of_another_user() const = 0;  // who has no rights yet
    virtual void administer(const std::string& statements) const = 0;
    virtual void crash_and_restart() = 0;
    // As the server counts them. Of what an open session has done some may be missing.
    virtual std::uint64_t statements() const = 0;
    virtual std::size_t connections() const = 0;
    virtual std::size_t connections_of_a_client() const = 0;  // at most
    virtual double polls_a_second() const = 0;                // of a client that waits, at most

    std::string url() const { return url(port()); }
    std::size_t waiting() const { return count("confirmed = 0"); }
};

// Ten processes with twenty threads each want five names, so many times. What the server has counted.
struct two_hundred_waiters {
    static constexpr std::size_t processes = 10;
    double grants = 0;
    double statements = 0;
    std::size_t connections = 0;
    double seconds = 0;

    two_hundred_waiters(const row_host& host, const std::string& url, int times) {
        struct tally {
            std::atomic<std::uint64_t> grants{0};
            std::atomic<std::size_t> ready{0};
            std::atomic<bool> begin{false};
            std::atomic<std::size_t> done{0};
            std::atomic<bool> end{false};
        };
        const testing::shared_page<tally> shared;
        static_cast<void>(client{url}.acquire("made"));
        std::vector<testing::child> all;
        for (std::size_t p = 0; p < processes; ++p)
            all.emplace_back([&] {
                client own{url};
                static_cast<void>(own.acquire("own " + std::to_string(::getpid())));
                ++shared->ready;
                while (!shared->begin) std::this_thread::sleep_for(1ms);
                std::vector<std::jthread> crew;
                for (int t = 0; t < 20; ++t)
                    crew.emplace_back([&, t] {
                        mutex lock{own, "n" + std::to_string(t % 5)};
                        for (int n = 0; n < times; ++n) {
                            const std::scoped_lock inside{lock};
                            if (lock.hold().token().turn() == 0) ++shared->grants;
                        }
                    });
                crew.clear();
                ++shared->done;
                while (!shared->end) std::this_thread::sleep_for(1ms);
                return 0;
            });
        EXPECT_TRUE(eventually([&] { return shared->ready == processes; }, 60s));
        const std::uint64_t before = host.statements();
        const auto began = std::chrono::steady_clock::now();
        shared->begin = true;
        EXPECT_TRUE(eventually([&] { return shared->done == processes; }, 90s));
        seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
        connections = host.connections();
        shared->end = true;
        for (testing::child& one : all) EXPECT_EQ(one.wait(), 0);
        EXPECT_TRUE(eventually([&] { return host.connections() == 0; }));
        statements = static_cast<double>(host.statements() - before);
        grants = static_cast<double>(shared->grants);
        std::cout << "200 waiters: hand_overs=" << grants << " statements=" << statements
                  << " each=" << statements / grants << " connections=" << connections << " seconds=" << seconds
                  << "\n";
    }
};

// `Suite` makes a row_host for each test.
template <class Suite>
class row_suite : public Suite {
protected:
    void waits(std::size_t so_many) {
        ASSERT_TRUE(eventually([&] { return host().waiting() == so_many; }));
    }
    row_host& host() { return *this->host_; }
    std::string url() { return host().url(); }

    // A process with a client of its own.
    testing::child other(std::function<void(client&)> work) {
        return testing::child{[this, work = std::move(work)] {
            client own{url()};
            work(own);
            return 0;
        }};
    }
    // A grant that ends by its grace never does so sooner; a busy machine is slow now and then, and not five times in a row.
    static bool sooner_than_its_grace(const std::function<std::chrono::nanoseconds()>& until_served) {
        for (int tries = 0; tries < 5; ++tries) {
            const std::chrono::nanoseconds took = until_served();
            std::cout << "the next was served after " << std::chrono::duration<double>(took).count() << " s\n";
            if (took < base::push_grace) return true;
        }
        return false;
    }
    // How long until the client has the lock.
    static double seconds_until_had(client& next, const std::string& name, std::chrono::seconds wait = 30s) {
        const auto began = std::chrono::steady_clock::now();
        EXPECT_TRUE(next.try_acquire(name, {.wait = wait}));
        return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
    }
};
TYPED_TEST_SUITE_P(row_suite);

TYPED_TEST_P(row_suite, a_hold_outlives_its_connection) {
    const auto seen = std::make_shared<testing::recording_observer>();
    client locks{this->url(), {.observer = seen}};
    client others{this->url()};
    hold mine = locks.acquire("n", {.lease = 10s});
    this->host().end_sessions();
    EXPECT_FALSE(others.try_acquire("n"));
    EXPECT_TRUE(seen->wait_for(event_kind::renewed, 1, 60s)) << "on another connection";
    EXPECT_TRUE(mine.valid());
    EXPECT_FALSE(others.try_acquire("n"));
    EXPECT_EQ(mine.release(), release_result::released);
    EXPECT_TRUE(others.try_acquire("n", {.wait = 10s}));
}

TYPED_TEST_P(row_suite, a_claim_waits_on_when_its_connection_is_ended) {
    client locks{this->url()};
    client others{this->url()};
    hold mine = locks.acquire("n");
    std::thread waiter{[&] { EXPECT_TRUE(others.acquire("n").valid()); }};
    this->waits(1);
    this->host().end_sessions();
    std::this_thread::sleep_for(100ms);
    this->waits(1);
    EXPECT_EQ(mine.release(), release_result::released);
    waiter.join();
}

// Not after a lease of 30 s. What was granted just before its client was killed ends by its grace, so the server has to have
// noticed.
TYPED_TEST_P(row_suite, a_killed_waiter_at_the_head_is_passed_over) {
    client locks{this->url()};
    client next{this->url()};
    EXPECT_TRUE(this->sooner_than_its_grace([&] {
        hold mine = locks.acquire("n");
        const std::size_t before = this->host().sessions();
        testing::child dies = this->other([](client& own) { static_cast<void>(own.acquire("n")); });
        this->waits(1);
        std::future<double> had = std::async(std::launch::async, [&] { return this->seconds_until_had(next, "n"); });
        this->waits(2);
        dies.kill();
        EXPECT_TRUE(eventually([&] { return this->host().sessions() <= before + 1; }));
        const auto began = std::chrono::steady_clock::now();
        EXPECT_EQ(mine.release(), release_result::released);
        had.wait();
        return std::chrono::steady_clock::now() - began;
    })) << "it was held up by a grant to a dead client";
}

// It was killed so late that the server had granted it the lock.
TYPED_TEST_P(row_suite, a_waiter_that_was_granted_the_lock_and_killed_is_passed_over_within_a_second_or_so) {
    client locks{this->url()};
    client next{this->url()};
    EXPECT_TRUE(this->sooner_than_its_grace([&] {
        hold mine = locks.acquire("n");
        testing::child dies = this->other([](client& own) { static_cast<void>(own.acquire("n")); });
        this->waits(1);
        std::future<double> had = std::async(std::launch::async, [&] { return this->seconds_until_had(next, "n"); });
        this->waits(2);
        dies.tell(SIGSTOP);  // it cannot hear of it
        const auto began = std::chrono::steady_clock::now();
        EXPECT_EQ(mine.release(), release_result::released);
        dies.kill();
        had.wait();
        return std::chrono::steady_clock::now() - began;
    })) << "the grant of a dead client was kept for its grace";
}

// Its client has heard of the grant, and then lost its session. It must not believe in it for longer than the server keeps it.
TYPED_TEST_P(row_suite, a_grant_is_not_trusted_when_its_session_has_ended) {
    testing::tcp_proxy network{this->host().port()};
    client cut{this->host().url(network.port(), "timeout=1s")};
    client locks{this->url()};
    client next{this->url()};
    static_cast<void>(cut.acquire("connected"));
    hold mine = locks.acquire("n");
    std::promise<hold> granted;
    std::future<hold> theirs = granted.get_future();
    cut.start({.name = "n"}, [&](attempt got) {
        if (got) granted.set_value(std::move(*got));
    });
    this->waits(1);
    std::future<attempt> had = std::async(std::launch::async, [&] { return next.try_acquire("n", {.wait = 30s}); });
    this->waits(2);
    network.swallow(testing::way::to_server);
    EXPECT_EQ(mine.release(), release_result::released);
    const bool heard = theirs.wait_for(500ms) == std::future_status::ready;
    network.swallow(testing::way::to_client);
    this->host().end_sessions();
    const attempt got = had.get();
    ASSERT_TRUE(got) << got.refusal().describe();
    EXPECT_FALSE(heard && theirs.get().valid()) << "two believe that they have the lock";
}

TYPED_TEST_P(row_suite, a_stopped_waiter_that_is_granted_all_the_same_is_passed_over_after_its_grace) {
    client locks{this->url()};
    client next{this->url()};
    hold mine = locks.acquire("n");
    testing::child stops = this->other([](client& own) { static_cast<void>(own.acquire("n")); });
    this->waits(1);
    std::future<double> had = std::async(std::launch::async, [&] { return this->seconds_until_had(next, "n"); });
    this->waits(2);
    stops.tell(SIGSTOP);
    EXPECT_EQ(mine.release(), release_result::released);
    EXPECT_GT(had.get(), 2.0) << "a grant lasts for its grace, whatever became of its client";
}

// It does not fit, so nobody would ask whether it lives but for those behind it.
TYPED_TEST_P(row_suite, a_big_claim_of_a_dead_client_keeps_nobody_out) {
    client locks{this->url()};
    client next{this->url()};
    counting_semaphore of_mine{locks, "n", 10};
    counting_semaphore of_next{next, "n", 10};
    hold mine = of_mine.acquire(5);
    const std::size_t before = this->host().sessions();
    testing::child dies = this->other([](client& own) {
        counting_semaphore big{own, "n", 10};
        static_cast<void>(big.acquire(9));
    });
    this->waits(1);
    std::future<attempt> had = std::async(std::launch::async, [&] { return of_next.try_acquire_for(2, 30s); });
    this->waits(2);
    dies.kill();
    ASSERT_TRUE(eventually([&] { return this->host().sessions() <= before + 1; }));
    EXPECT_EQ(had.wait_for(10s), std::future_status::ready) << "the dead client's claim is still in the way";
    EXPECT_TRUE(mine.valid());
    EXPECT_TRUE(had.get());
}

TYPED_TEST_P(row_suite, a_silent_client_is_passed_over_and_its_hold_ends_before_its_row) {
    testing::tcp_proxy network{this->host().port()};
    client cut{this->host().url(network.port(), "timeout=1s")};
    client locks{this->url()};
    client next{this->url()};
    hold mine = locks.acquire("n");
    const hold theirs = cut.acquire("other", {.lease = 3s});
    cut.start({.name = "n"}, [](const attempt&) {});
    this->waits(1);
    network.swallow(testing::way::to_server);
    network.swallow(testing::way::to_client);
    EXPECT_EQ(mine.release(), release_result::released);
    EXPECT_TRUE(next.try_acquire("n", {.wait = 60s}));
    ASSERT_TRUE(next.try_acquire("other", {.wait = 60s}));
    EXPECT_FALSE(theirs.valid());
}

TYPED_TEST_P(row_suite, goes_on_when_the_server_was_restarted) {
    client locks{this->url(), {.patience = 60s}};
    client others{this->url(), {.patience = 60s}};
    hold mine = locks.acquire("n");
    const token first = mine.token();
    std::future<attempt> next = std::async(std::launch::async, [&] { return others.try_acquire("n", {.wait = 60s}); });
    this->waits(1);
    EXPECT_EQ(this->host().count("confirmed = 1"), 1U);
    this->host().crash_and_restart();
    EXPECT_EQ(this->host().count("confirmed = 1"), 1U);
    EXPECT_TRUE(mine.valid()) << "its row is still there";
    EXPECT_FALSE(others.try_acquire("n"));
    EXPECT_EQ(mine.release(), release_result::released);
    attempt theirs = next.get();
    ASSERT_TRUE(theirs) << theirs.refusal().describe();
    EXPECT_GT(theirs->token(), first);
}

// What the server has not written when it is killed is lost: so nobody may have been told of it.
TYPED_TEST_P(row_suite, crashes_of_the_server_under_traffic_repeat_no_token_and_leave_nothing_locked) {
    constexpr std::size_t names = 3;
    constexpr std::size_t clients = 3;
    struct place {
        std::mutex guard{};
        std::uint64_t last = 0;
        const hold* inside = nullptr;
        std::uint64_t grants = 0;
    };
    std::vector<place> places(names);
    std::atomic<bool> over{false};
    std::atomic<int> overlaps{0};
    std::atomic<int> repeated{0};
    const auto uses = [&](client& locks, std::size_t which) {
        place& here = places[which];
        while (!over) {
            attempt got = locks.try_acquire("n" + std::to_string(which), {.wait = 10s, .lease = 2s});
            if (!got) continue;
            {
                const std::scoped_lock alone{here.guard};
                if (!got->valid()) continue;  // it took too long
                const std::uint64_t its = got->token().value();
                if (its <= here.last) ++repeated;
                if (here.inside != nullptr && here.inside->valid()) ++overlaps;
                here.last = std::max(here.last, its);
                here.inside = &*got;
                ++here.grants;
            }
            std::this_thread::sleep_for(1ms);
            const std::scoped_lock alone{here.guard};
            if (here.inside == &*got) here.inside = nullptr;
        }
    };
    const auto grants_of = [&](std::size_t which) {
        const std::scoped_lock alone{places[which].guard};
        return places[which].grants;
    };
    const auto all_are_used = [&] {
        for (std::size_t n = 0; n < names; ++n) {
            const std::uint64_t before = grants_of(n);
            if (!eventually([&] { return grants_of(n) >= before + 5; }, 60s)) return false;
        }
        return true;
    };
    {
        std::vector<std::unique_ptr<client>> all;
        for (std::size_t n = 0; n < clients; ++n)
            all.push_back(std::make_unique<client>(this->url(), client_options{.patience = 60s}));
        std::vector<std::jthread> crew;
        for (const auto& one : all)
            for (std::size_t n = 0; n < 2 * names; ++n) crew.emplace_back([&, n] { uses(*one, n % names); });
        for (int crash = 0; crash < 3; ++crash) {
            EXPECT_TRUE(all_are_used()) << "something is locked by nobody";
            this->host().crash_and_restart();
        }
        EXPECT_TRUE(all_are_used()) << "something is locked by nobody";
        over = true;
    }
    EXPECT_EQ(overlaps, 0);
    EXPECT_EQ(repeated, 0);
    std::cout << "three crashes: grants=" << grants_of(0) + grants_of(1) + grants_of(2) << "\n";
    client looks{this->url()};
    static_cast<void>(looks.acquire("sweeps"));
    EXPECT_TRUE(eventually([&] { return this->host().count("confirmed >= 0") == 0; }, 40s)) << "rows are left";
}

TYPED_TEST_P(row_suite, what_a_dead_client_left_is_swept_by_any_other) {
    client locks{this->url()};
    const hold mine = locks.acquire("n");
    testing::child dies = this->other([](client& own) {
        static_cast<void>(own.acquire("m", {.lease = 1s}));
        const hold kept = own.acquire("k", {.lease = 1s});
        static_cast<void>(own.acquire("n"));
    });
    this->waits(1);
    dies.kill();
    EXPECT_TRUE(eventually([&] { return this->host().count("confirmed >= 0") == 1; }, 40s))
        << "its rows are still there";
    EXPECT_TRUE(mine.valid());
}

// No transaction lasts while a lock is held, so the server sees no circle; who set a time limit is told.
TYPED_TEST_P(row_suite, a_deadlock_of_two_clients_ends_with_their_time) {
    client a{this->url()};
    client b{this->url()};
    const hold first = a.acquire("x");
    const hold second = b.acquire("y");
    auto of_a = std::async(std::launch::async, [&] { return a.try_acquire("y", {.wait = 1s}).reason(); });
    EXPECT_EQ(b.try_acquire("x", {.wait = 1s}).reason(), errc::timed_out);
    EXPECT_EQ(of_a.get(), errc::timed_out);
    EXPECT_TRUE(first.valid());
    EXPECT_TRUE(second.valid());
}

TYPED_TEST_P(row_suite, needs_no_more_rights_than_its_schema_grants) {
    const std::string theirs = this->host().url_of_another_user();
    client asked{theirs};
    this->host().administer(asked.schema());
    client others{theirs};
    hold mine = asked.acquire("n");
    std::thread waiter{[&] { EXPECT_TRUE(others.acquire("n").valid()); }};
    this->waits(1);
    EXPECT_EQ(asked.list().size(), 1U);
    EXPECT_EQ(mine.release(), release_result::released);
    waiter.join();
    shared_mutex upgraded{asked, "m"};
    upgraded.lock_upgradeable();
    upgraded.upgrade();
    upgraded.unlock();
    std::error_code failed;
    for (const finding& one : asked.check(failed)) EXPECT_NE(one.is, finding::grade::problem) << one.what;
}

// Not at the next heartbeat: on one name, and on the second of two, of which the first stays locked.
TYPED_TEST_P(row_suite, clients_of_two_users_wake_each_other) {
    client locks{this->url()};
    static_cast<void>(locks.acquire("made"));
    client others{this->host().url_of_another_user()};
    this->host().administer(others.schema());
    const auto median_wait = [&](client& from, client& to, std::size_t already_waiting) {
        std::vector<std::chrono::duration<double>> took;
        for (int n = 0; n < 9; ++n) {
            hold mine = from.acquire("n");
            auto had = std::async(std::launch::async, [&] {
                const hold theirs = to.acquire("n");
                return std::chrono::steady_clock::now();
            });
            this->waits(already_waiting + 1);
            const auto began = std::chrono::steady_clock::now();
            EXPECT_EQ(mine.release(), release_result::released);
            took.push_back(had.get() - began);
        }
        std::ranges::nth_element(took, took.begin() + 4);
        std::cout << "from user to user: " << 1000 * took[4].count() << " ms\n";
        return took[4];
    };
    EXPECT_LT(median_wait(locks, others, 0), 100ms);
    EXPECT_LT(median_wait(others, locks, 0), 100ms);
    hold first = locks.acquire("first");
    std::thread stays{[&] { EXPECT_TRUE(others.acquire("first").valid()); }};
    this->waits(1);
    EXPECT_LT(median_wait(locks, others, 1), 100ms);
    EXPECT_EQ(first.release(), release_result::released);
    stays.join();
}

TYPED_TEST_P(row_suite, names_and_labels_are_bytes) {
    client locks{this->url()};
    std::vector<hold> all;
    for (const std::string name : {"it's", "back\\slash", "\"quoted\"", "per%cent; DROP TABLE row_claims",
                                   "\xF0\x9F\x94\x92", "N", "n", "n ", "\xC3\xA4", "a\xCC\x88"})
        all.push_back(locks.acquire(name, {.label = name}));
    const auto listed = locks.list();
    EXPECT_EQ(listed.size(), all.size());
    for (const held_lock& one : listed) EXPECT_EQ(one.name, one.holder.label);
    EXPECT_THROW(static_cast<void>(locks.try_acquire(std::string("a\0b", 3))), error);
}

TYPED_TEST_P(row_suite, leaves_nothing_behind_when_requests_are_late_twice_or_lost) {
    using verb = testing::late_requests::verb;
    using trouble = testing::late_requests::trouble;
    testing::late_requests matrix;
    matrix.verbs = {verb::claim, verb::release, verb::cancel, verb::renewal, verb::first_claim};
    matrix.troubles = {trouble::held, trouble::reply_lost, trouble::silent};
    matrix.servers = {this->host().port()};
    matrix.url_at = [&](const std::vector<std::uint16_t>& ports) {
        return this->host().url(ports.front(), "timeout=1s");
    };
    matrix.leases = {1s, 3s, 60s};
    matrix.free_within = 25s;
    matrix.every = testing::under_asan || testing::under_tsan ? 20 : 2;
    EXPECT_THAT(matrix.run(), ::testing::IsEmpty());
    client looks{this->url()};
    EXPECT_TRUE(eventually([&] { return looks.list().empty(); }, 30s)) << looks.list().front().name;
}

TYPED_TEST_P(row_suite, every_row_is_of_a_claim_that_a_client_admits_to) {
    constexpr std::chrono::seconds lease = 2s;
    testing::tcp_proxy network{this->host().port()};
    const std::string through = this->host().url(network.port(), "timeout=500ms");
    const auto stored = [&] { return this->host().records(); };
    {
        testing::crowd some{
            {.urls = std::vector<std::string>(4, through), .lease = lease, .names = 12, .callers = 4, .stay = 10ms}};
        std::minstd_rand dice{1};
        for (int n = 0; n < 10; ++n) {
            std::this_thread::sleep_for(100ms);
            network.cut_after(n % 2 == 0 ? testing::way::to_client : testing::way::to_server, dice() % 1000);
        }
        network.cut();
        const auto during = testing::audit(lease + 4s, stored, [&] { return some.admitted(); });
        EXPECT_TRUE(during.innocent()) << during.describe();
        some.rest();
        const auto after = testing::audit(lease + 4s, stored, [&] { return some.admitted(); });
        EXPECT_TRUE(after.innocent()) << after.describe();
        EXPECT_GT(some.granted(), 0U);
    }
    const auto silent = testing::leave_in_silence({.way_there = network,
                                                   .through = through,
                                                   .past = this->url(),
                                                   .stored = stored,
                                                   .lease = lease,
                                                   .silence = 2200ms,
                                                   .bound = lease + 4s});
    EXPECT_TRUE(silent.innocent()) << silent.describe();
}

TYPED_TEST_P(row_suite, few_statements_hand_a_lock_over_to_one_of_two_hundred) {
    const two_hundred_waiters got{this->host(), this->url(), 20};
    EXPECT_LE(got.connections, two_hundred_waiters::processes * this->host().connections_of_a_client());
    // A machine that is slow has time for more polls.
    const double polls = got.seconds * two_hundred_waiters::processes * this->host().polls_a_second();
    EXPECT_LE(got.statements, 4.0 * got.grants + polls);
}

// Without local hand-over: a claim that leaves is answered who of its own client is next, so that nobody has to ask.
TYPED_TEST_P(row_suite, claims_of_one_client_on_one_name_take_turns_in_few_statements) {
    constexpr int threads = 8;
    constexpr int each = 40;
    static_cast<void>(client{this->url()}.acquire("made"));
    const std::uint64_t before = this->host().statements();
    const auto began = std::chrono::steady_clock::now();
    {
        client own{this->url(), {.hand_over_turns = 1}};
        std::atomic<int> inside{0};
        std::vector<std::jthread> crew;
        for (int t = 0; t < threads; ++t)
            crew.emplace_back([&] {
                for (int n = 0; n < each; ++n) {
                    const hold mine = own.acquire("n");
                    EXPECT_EQ(++inside, 1);
                    --inside;
                }
            });
    }
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    EXPECT_TRUE(eventually([&] { return this->host().connections() == 0; }));
    const double used = static_cast<double>(this->host().statements() - before);
    std::cout << threads << " threads of a client: grants=" << threads * each << " statements=" << used
              << " ms_a_grant=" << 1000 * took.count() / (threads * each) << "\n";
    // An `enter` and a `leave` each; and polls, and what a client begins with. A grant that nobody hears of costs two more.
    EXPECT_LE(used, 2.2 * threads * each + 50 + took.count() * this->host().polls_a_second());
}

REGISTER_TYPED_TEST_SUITE_P(
    row_suite, few_statements_hand_a_lock_over_to_one_of_two_hundred, a_hold_outlives_its_connection,
    a_claim_waits_on_when_its_connection_is_ended, a_killed_waiter_at_the_head_is_passed_over,
    a_waiter_that_was_granted_the_lock_and_killed_is_passed_over_within_a_second_or_so,
    a_grant_is_not_trusted_when_its_session_has_ended,
    a_stopped_waiter_that_is_granted_all_the_same_is_passed_over_after_its_grace,
    a_big_claim_of_a_dead_client_keeps_nobody_out, a_silent_client_is_passed_over_and_its_hold_ends_before_its_row,
    goes_on_when_the_server_was_restarted, crashes_of_the_server_under_traffic_repeat_no_token_and_leave_nothing_locked,
    what_a_dead_client_left_is_swept_by_any_other, a_deadlock_of_two_clients_ends_with_their_time,
    needs_no_more_rights_than_its_schema_grants, clients_of_two_users_wake_each_other, names_and_labels_are_bytes,
    leaves_nothing_behind_when_requests_are_late_twice_or_lost, every_row_is_of_a_claim_that_a_client_admits_to,
    claims_of_one_client_on_one_name_take_turns_in_few_statements);

}  // namespace mortise::inline v0::stores::sql::servers
