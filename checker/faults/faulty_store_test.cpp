#include "checker/faults/faulty_store.hpp"

#include "checker/sim/sim_clock.hpp"
#include "support/broken_store.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;
using verdict = spi::claim_answer::verdict;

claim_id id_of(std::uint64_t n) {
    return {{n, 0}};
}

spi::claim_request request_of(std::string_view name, std::uint64_t id) {
    spi::claim_request request;
    request.name = name;
    request.id = id_of(id);
    return request;
}

// Says yes to everything, at once, and writes down what it was asked.
class yes_store final : public spi::store {
public:
    yes_store(spi::events& events, std::vector<std::string>& log) : events_(events), log_(log) {}

    const mortise::promises& promises() const noexcept override { return promises_; }
    void claim(const spi::claim_request& asked, spi::reply<spi::claim_answer> done) override {
        note("claim " + std::string{asked.name} + " as " + std::string{asked.label});
        done({.is = verdict::granted});
    }
    void renew(std::span<const spi::renewal> asked, spi::reply<std::vector<spi::renewal_answer>> done) override {
        std::string line = "renew";
        for (const auto& one : asked) line += " " + std::string{one.name};
        note(line);
        done(std::vector(asked.size(), spi::renewal_answer::renewed));
    }
    void release(std::string_view name, const claim_id&, spi::reply<spi::release_answer> done) override {
        note("release " + std::string{name});
        done(spi::release_answer::released);
    }
    void list(spi::reply<spi::listing> done) override {
        note("list");
        done({});
    }
    void break_hold(const spi::break_request& which, spi::reply<spi::break_answer> done) override {
        note("break " + std::string{which.name});
        done(spi::break_answer::broken);
    }
    void close() noexcept override { note("close"); }

    spi::events& events_;

private:
    void note(std::string line) {
        std::scoped_lock guard{mutex_};
        log_.push_back(std::move(line));
    }

    std::mutex mutex_;
    std::vector<std::string>& log_;
    mortise::promises promises_{.store = "yes"};
};

using lines = std::vector<std::string>;

class faulty_store_test : public ::testing::Test, public spi::events {
protected:
    void granted(std::string_view name, const claim_id&, const spi::grant&) override {
        heard.push_back("granted " + std::string{name});
    }
    void lost(std::string_view name, const claim_id&) override { heard.push_back("lost " + std::string{name}); }

    void claim(const std::string& name, std::uint64_t id = 1) {
        // Text that is gone when the call returns, as the rules of a store allow.
        const auto text = std::make_unique<std::string>(name + "+label");
        const std::string_view all = *text;
        spi::claim_request request = request_of(all.substr(0, name.size()), id);
        request.label = all.substr(name.size() + 1);
        store->claim(request, [this](const spi::claim_answer& said) {
            heard.push_back(said.is == verdict::granted ? "granted" : "unknown");
        });
    }
    void renew(const lines& names) {
        std::vector<spi::renewal> due;
        for (const auto& name : names) due.push_back({.name = name, .id = id_of(due.size()), .lease = 30s});
        store->renew(due, [this](const std::vector<spi::renewal_answer>& said) {
            std::string line;
            for (auto one : said) line += one == spi::renewal_answer::renewed ? 'y' : '?';
            heard.push_back(line);
        });
    }
    void release(const std::string& name) {
        store->release(name, id_of(1), [this](spi::release_answer said) {
            heard.push_back(said == spi::release_answer::released ? "released" : "unknown");
        });
    }
    spi::events& inner_events() { return inner->events_; }

    sim_clock clock;
    lines asked;  // of the inner store
    lines heard;  // by the core
    yes_store* inner = nullptr;
    std::shared_ptr<fault_plan> plan = std::make_shared<fault_plan>();
    std::unique_ptr<spi::store> store = faulty(
        [this](const spi::context& given) {
            auto made = std::make_unique<yes_store>(given.events, asked);
            inner = made.get();
            return made;
        },
        plan)({.clock = clock, .events = *this, .host = "here", .pid = 1});
};

TEST_F(faulty_store_test, without_a_plan_everything_passes) {
    claim("a");
    renew({"a", "b"});
    release("a");
    store->list([this](const spi::listing&) { heard.push_back("listed"); });
    store->break_hold({"a", 1}, [this](spi::break_answer) { heard.push_back("broken"); });
    inner_events().granted("7", id_of(7), {});
    inner_events().lost("8", id_of(8));
    EXPECT_EQ(asked, (lines{"claim a as label", "renew a b", "release a", "list", "break a"}));
    EXPECT_EQ(heard, (lines{"granted", "yy", "released", "listed", "broken", "granted 7", "lost 8"}));
    EXPECT_EQ(store->promises().store, "yes");
}

TEST_F(faulty_store_test, a_lost_request_is_never_seen) {
    plan->lose_requests(verb::claim);
    claim("a");
    EXPECT_EQ(asked, lines{});
    EXPECT_EQ(heard, lines{});
    claim("a");
    EXPECT_EQ(heard, (lines{"granted"}));
    EXPECT_EQ(plan->calls(verb::claim), 2u);
    EXPECT_EQ(plan->arrived(verb::claim), 1u);
    EXPECT_EQ(plan->ids(verb::claim), 1u);
    EXPECT_TRUE(plan->saw(verb::claim, id_of(1)));
    EXPECT_FALSE(plan->saw(verb::claim, id_of(2)));
}

TEST_F(faulty_store_test, a_lost_reply_is_of_a_deed_done) {
    plan->lose_replies(verb::release);
    release("a");
    EXPECT_EQ(asked, (lines{"release a"}));
    EXPECT_EQ(heard, lines{});
}

TEST_F(faulty_store_test, failures_are_unknown_with_and_without_the_deed) {
    plan->fail(verb::claim);
    plan->fail_after(verb::claim);
    claim("a");
    EXPECT_EQ(asked, lines{});
    claim("b");
    EXPECT_EQ(asked, (lines{"claim b as label"}));
    EXPECT_EQ(heard, (lines{"unknown", "unknown"}));
}

TEST_F(faulty_store_test, faults_strike_in_the_order_asked_for) {
    plan->fail(verb::renew, 2);
    plan->lose_replies(verb::renew);
    for (int i = 0; i < 4; ++i) renew({"a"});
    EXPECT_EQ(heard, (lines{"?", "?", "y"}));
    EXPECT_EQ(plan->arrived(verb::renew), 2u);
}

TEST_F(faulty_store_test, a_fault_for_ever_ends_when_healed) {
    plan->fail(verb::renew, fault_plan::for_ever);
    for (int i = 0; i < 100; ++i) renew({"a"});
    EXPECT_EQ(heard, lines(100, "?"));
    heard.clear();
    plan->heal();
    renew({"a"});
    EXPECT_EQ(heard, (lines{"y"}));
}

TEST_F(faulty_store_test, a_duplicate_is_asked_twice_and_answered_once) {
    plan->duplicate(verb::claim);
    claim("a");
    EXPECT_EQ(asked, (lines{"claim a as label", "claim a as label"}));
    EXPECT_EQ(heard, (lines{"granted"}));
    EXPECT_EQ(plan->arrived(verb::claim), 2u);
}

TEST_F(faulty_store_test, pushes_are_lost_doubled_and_late) {
    plan->lose_pushes();
    plan->duplicate(verb::push);
    inner_events().granted("1", id_of(1), {});
    EXPECT_EQ(heard, lines{});
    inner_events().granted("2", id_of(2), {});
    EXPECT_EQ(heard, (lines{"granted 2", "granted 2"}));
    heard.clear();
    plan->delay(verb::push, 1s);
    inner_events().lost("3", id_of(3));
    EXPECT_EQ(heard, lines{});
    clock.advance(1s);
    EXPECT_EQ(heard, (lines{"lost 3"}));
    EXPECT_EQ(plan->calls(verb::push), 3u);
    EXPECT_EQ(plan->arrived(verb::push), 3u);
}

TEST_F(faulty_store_test, delays_each_way) {
    plan->delay(verb::claim, 2s, 3s);
    claim("a");
    clock.advance(1999ms);
    EXPECT_EQ(asked, lines{});
    clock.advance(1ms);
    EXPECT_EQ(asked, (lines{"claim a as label"}));
    clock.advance(2999ms);
    EXPECT_EQ(heard, lines{});
    clock.advance(1ms);
    EXPECT_EQ(heard, (lines{"granted"}));
}

TEST_F(faulty_store_test, renewals_of_one_name_fail_alone) {
    plan->fail_renewals_of("b", 2);
    renew({"a", "b", "c"});
    renew({"b"});
    renew({"a", "b"});
    EXPECT_EQ(asked, (lines{"renew a c", "renew a b"}));
    EXPECT_EQ(heard, (lines{"y?y", "?", "yy"}));
}

TEST_F(faulty_store_test, frozen_nothing_moves_and_thawed_all_in_order) {
    plan->delay(verb::release, 1s);
    release("late");
    plan->freeze();
    claim("a");
    inner_events().granted("7", id_of(7), {});
    plan->fail(verb::renew);
    renew({"a"});
    store->list([this](const spi::listing&) { heard.push_back("listed"); });
    clock.advance(1s);
    EXPECT_EQ(asked, lines{});
    EXPECT_EQ(heard, lines{});
    plan->thaw();
    EXPECT_EQ(asked, (lines{"claim a as label", "list", "release late"}));
    // Replies travel behind what was already waiting.
    EXPECT_EQ(heard, (lines{"granted 7", "?", "granted", "listed", "released"}));
    heard.clear();
    claim("b");
    EXPECT_EQ(heard, (lines{"granted"}));
}

TEST_F(faulty_store_test, may_be_frozen_again_by_what_a_thaw_let_through) {
    plan->freeze();
    store->release("a", id_of(1), [this](spi::release_answer) {
        heard.push_back("released");
        plan->freeze();
    });
    claim("b");
    plan->thaw();
    claim("c");
    EXPECT_EQ(heard, (lines{"released"}));
    plan->thaw();
    EXPECT_EQ(heard, (lines{"released", "granted", "granted"}));
}

TEST_F(faulty_store_test, a_store_opened_while_frozen_is_frozen) {
    plan->freeze();
    store = faulty([this](const spi::context& given) { return std::make_unique<yes_store>(given.events, asked); },
                   plan)({.clock = clock, .events = *this, .host = "here", .pid = 1});
    asked.clear();
    claim("a");
    EXPECT_EQ(asked, lines{});
    plan->thaw();
    EXPECT_EQ(asked, (lines{"claim a as label"}));
}

TEST_F(faulty_store_test, closed_nothing_arrives_any_more_and_nothing_is_kept) {
    auto owned = std::make_shared<int>();
    plan->delay(verb::claim, 1s);
    store->claim(request_of("a", 1), [owned](const spi::claim_answer&) { FAIL(); });
    plan->freeze();
    store->release("a", id_of(1), [owned](spi::release_answer) { FAIL(); });
    EXPECT_EQ(owned.use_count(), 3);
    store->close();
    EXPECT_EQ(owned.use_count(), 1);
    store.reset();
    clock.advance(2s);
    plan->thaw();
    EXPECT_EQ(asked, (lines{"close"}));
    EXPECT_EQ(heard, lines{});
}

TEST_F(faulty_store_test, a_reply_may_close_the_store) {
    store->release("a", id_of(1), [this](spi::release_answer) { store->close(); });
    EXPECT_EQ(asked, (lines{"release a", "close"}));
}

TEST_F(faulty_store_test, close_waits_for_a_reply_under_way_on_another_thread) {
    plan->freeze();
    std::atomic<bool> began = false;
    std::atomic<bool> ended = false;
    store->release("a", id_of(1), [&](spi::release_answer) {
        began = true;
        std::this_thread::sleep_for(50ms);
        ended = true;
    });
    std::jthread thawing{[&] { plan->thaw(); }};
    while (!began) std::this_thread::yield();
    store->close();
    EXPECT_TRUE(ended);
}

TEST_F(faulty_store_test, obeys_from_many_threads) {
    std::atomic<int> answers = 0;
    plan->freeze();
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < 4; ++t) {
            threads.emplace_back([&] {
                for (int i = 0; i < 500; ++i) store->release("a", id_of(1), [&](spi::release_answer) { ++answers; });
            });
        }
        threads.emplace_back([&] { plan->thaw(); });
    }
    plan->thaw();
    EXPECT_EQ(answers, 2000);
    EXPECT_EQ(plan->arrived(verb::release), 2000u);
}

TEST(broken_store, grants_everything_to_everybody) {
    struct deaf final : spi::events {
        void granted(std::string_view, const claim_id&, const spi::grant&) override {}
        void lost(std::string_view, const claim_id&) override {}
    } events;
    sim_clock clock;
    std::vector<std::string> log;
    auto store = broken([&](const spi::context& given) { return std::make_unique<yes_store>(given.events, log); })(
        {.clock = clock, .events = events, .host = "here", .pid = 1});
    std::vector<std::uint64_t> counters;
    for (std::uint64_t n = 1; n <= 3; ++n) {
        store->claim(request_of("a", n), [&](const spi::claim_answer& said) {
            EXPECT_EQ(said.is, verdict::granted);
            EXPECT_EQ(said.grant.counted_from, clock.now());
            counters.push_back(said.grant.counter);
        });
    }
    EXPECT_LT(counters.at(0), counters.at(1));
    EXPECT_LT(counters.at(1), counters.at(2));
    EXPECT_TRUE(log.empty());
}

}  // namespace
}  // namespace mortise::testing
