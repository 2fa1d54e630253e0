// Whoever does not get the lock learns who has it, and how long the line is.
#include "conformance/suite.hpp"
#include "support/recording_observer.hpp"
#include "support/waiting.hpp"

#include <mortise/error.hpp>

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <unistd.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

class refusals : public store_suite {
protected:
    static std::string this_host() {
        char name[256] = {};
        ::gethostname(name, sizeof name - 1);
        return name;
    }
    void expect_us(const refusal& no, const std::string& label, token of) const {
        ASSERT_TRUE(no.holder);
        const std::string shown = names_holders() ? label : "another program";
        EXPECT_EQ(no.holder->host, names_holders() ? this_host() : "");
        EXPECT_EQ(no.holder->pid, names_holders() ? ::getpid() : 0);
        EXPECT_EQ(no.holder->label, names_holders() ? label : "");
        EXPECT_GE(no.holder->held_for.value_or(0ns), 0ns);
        EXPECT_EQ(no.holder->token.counter(), names_tokens_of_holders() ? of.counter() : 0);
        EXPECT_NE(no.describe().find(shown), std::string::npos) << no.describe();
    }
};
EVERY_STORE(refusals);

TEST_P(refusals, name_the_holder) {
    client locks = make_client({.label = "the holder's client"});
    client others = make_client();
    const hold mine = locks.acquire("n", {.label = "nightly report"});
    for (client* who : {&others, &locks}) {
        const attempt got = who->try_acquire("n");
        ASSERT_FALSE(got);
        EXPECT_EQ(got.reason(), errc::busy);
        EXPECT_EQ(got.reason(), std::errc::device_or_resource_busy);
        expect_us(got.refusal(), "nightly report", token_of(mine));
        EXPECT_NE(got.refusal().detail.find("'n'"), std::string::npos) << got.refusal().detail;
    }
    const hold unlabelled = locks.acquire("other");
    expect_us(others.try_acquire("other").refusal(), "the holder's client", token_of(unlabelled));
}

TEST_P(refusals, of_a_long_wait_name_who_holds_it_at_its_end) {
    if (!can().lists) GTEST_SKIP() << no_lists;
    if (!can().fifo) GTEST_SKIP() << no_line << ", and which of two gets the lock is left to chance";
    client locks = make_client({.hand_over_turns = 0});
    client others = make_client();
    // The second must have it before the third asks for the last time, and that must be answered in time: if the machine
    // stood still meanwhile, once more.
    for (auto wait = 2s;; wait *= 2) {
        hold first = locks.acquire("n", {.label = "first"});
        auto second = std::async(std::launch::async, [&] { return locks.acquire("n", {.label = "second"}); });
        const auto waiting = [&] { return others.list().front().waiting; };
        ASSERT_TRUE(eventually([&] { return waiting() == 1; }));
        const auto gives_up = boot_clock::now() + wait;
        auto third = std::async(std::launch::async, [&] { return others.try_acquire("n", {.wait = wait}); });
        ASSERT_TRUE(eventually([&] { return waiting() == 2 || boot_clock::now() > gives_up; }));
        first.release();
        const hold now = second.get();
        const attempt got = third.get();
        const auto by_the_second_for_long = [&](const std::optional<holder>& held) {
            return held && held->label == (names_holders() ? "second" : "") &&
                   held->token.counter() == token_of(now).counter() && held->held_for.value_or(plenty) >= 500ms;
        };
        if ((got || !by_the_second_for_long(got.refusal().holder)) && wait < plenty / 2) continue;
        ASSERT_FALSE(got);
        EXPECT_EQ(got.reason(), errc::timed_out);
        expect_us(got.refusal(), "second", token_of(now));
        // etcd and ZooKeeper do not record when a lock was granted.
        const std::string store = others.promises().store;
        const bool recorded = !store.starts_with("etcd") && !store.starts_with("zookeeper");
        EXPECT_EQ(got.refusal().holder->held_for.has_value(), recorded) << store;
        EXPECT_GE(got.refusal().holder->held_for.value_or(plenty), 500ms)
            << "told when the wait ends, not when it was last looked at";
        EXPECT_EQ(got.refusal().place, 1u);
        return;
    }
}

TEST_P(refusals, of_a_bounded_wait_say_timed_out_and_name_holder_and_place) {
    client locks = make_client();
    client others = make_client();
    meet_the_store(others);
    const hold mine = locks.acquire("n", {.label = "slow"});
    const attempt got = answer_to(
        300ms, [&](auto wait) { return others.try_acquire("n", {.wait = wait}); },
        [](const attempt& said) { return said || said.refusal().holder; });
    ASSERT_FALSE(got);
    EXPECT_EQ(got.reason(), errc::timed_out);
    EXPECT_EQ(got.reason(), std::errc::timed_out);
    expect_us(got.refusal(), "slow", token_of(mine));
    if (others.promises().fifo) {
        EXPECT_EQ(got.refusal().place, 1u);
    }
}

TEST_P(refusals, tell_the_place_in_the_queue) {
    const auto seen = std::make_shared<recording_observer>();
    client locks = make_client();
    client others = make_client({.observer = seen});
    if (!locks.promises().fifo) GTEST_SKIP() << "this store keeps no queue";
    const hold mine = locks.acquire("n");
    std::stop_source stop;
    constexpr std::size_t crowd = 3;
    std::vector<std::jthread> waiters;
    for (std::size_t w = 1; w <= crowd; ++w) {
        waiters.emplace_back([&] {
            const attempt got =
                others.try_acquire("n", {.wait = plenty, .order = order::fifo, .stop = stop.get_token()});
            EXPECT_EQ(got.reason(), errc::cancelled);
        });
        ASSERT_TRUE(seen->wait_for(event_kind::waited, w, plenty));
    }
    client late = make_client();
    EXPECT_EQ(late.try_acquire("n").refusal().place, crowd + 1);
    const attempt later = answer_to(
        300ms, [&](auto wait) { return late.try_acquire("n", {.wait = wait}); },
        [](const attempt& said) { return said || said.refusal().place; });
    EXPECT_EQ(later.refusal().place, crowd + 1);
    stop.request_stop();
}

TEST_P(refusals, come_as_exceptions_from_acquire) {
    client locks = make_client();
    client others = make_client();
    const hold mine = locks.acquire("n", {.label = "slow"});
    try {
        static_cast<void>(others.acquire("n", {.wait = 0s}));
        ADD_FAILURE() << "acquired twice";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::busy);
        const std::string shown = names_holders() ? "slow" : "another program";
        EXPECT_NE(std::string(e.what()).find(shown), std::string::npos) << e.what();
    }
    std::error_code ec;
    EXPECT_FALSE(others.acquire("n", {.wait = 0s}, ec));
    EXPECT_EQ(ec, errc::busy);
}

TEST_P(refusals, of_a_claim_with_another_capacity_say_kind_mismatch) {
    client locks = make_client();
    client others = make_client();
    const hold mine = locks.acquire("n");
    std::promise<std::error_code> answered;
    others.start({.name = "n", .capacity = 3, .weight = 1, .options = {.wait = plenty}},
                 [&](attempt got) { answered.set_value(got.reason()); });
    const std::error_code why = answered.get_future().get();
    if (others.promises().most_capacity < 3) {
        EXPECT_EQ(why, errc::unsupported);
    } else {
        EXPECT_EQ(why, errc::kind_mismatch);
    }
    EXPECT_TRUE(mine.valid());
}

TEST_P(refusals, of_invalid_arguments_come_before_the_store_is_asked) {
    client locks = make_client();
    for (const std::string& name : {std::string{}, std::string(201, 'n'), std::string(1 << 20, 'n'),
                                    std::string("a\0b", 3), std::string("a\nb"), std::string("\xff\xfe")}) {
        try {
            static_cast<void>(locks.try_acquire(name));
            ADD_FAILURE() << "accepted";
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::invalid_name);
            EXPECT_LT(std::string(e.what()).size(), 500u) << "a hostile name is cut";
        }
    }
    for (const claim_options& options :
         {claim_options{.wait = -1ns}, claim_options{.lease = 0s}, claim_options{.lease = -1s},
          claim_options{.lease = 99ms}, claim_options{.lease = 25h}, claim_options{.label = std::string(201, 'l')}}) {
        try {
            static_cast<void>(locks.try_acquire("n", options));
            ADD_FAILURE() << "accepted";
        } catch (const error& e) {
            EXPECT_EQ(e.code(), errc::invalid_option);
        }
    }
    EXPECT_TRUE(locks.try_acquire("n"));
}

}  // namespace
}  // namespace mortise::testing
