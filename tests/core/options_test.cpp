// Every field of every options struct changes behaviour: one test per field, and a count that fails when one is missing.
#include "fleet.hpp"
#include "support/waiting.hpp"

#include <mortise/error.hpp>

#include <functional>
#include <thread>

#include <errno.h>
#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

// A store that promises less than memory: does.
class less_promising final : public spi::store_wrapper {
public:
    less_promising(const spi::context& outer, const spi::store_factory& inner) : store_wrapper(outer, inner) {
        less_ = store_wrapper::promises();
        less_.store = "modest";
        less_.tokens = less_.fifo = less_.detached = less_.keeps = false;
        less_.most_capacity = 1;
    }
    const mortise::promises& promises() const noexcept override { return less_; }
    void claim(const spi::claim_request& asked, spi::reply<spi::claim_answer> done) override {
        store_wrapper::claim(asked, [done = std::move(done)](spi::claim_answer said) mutable {
            said.grant.counter = 0;
            done(std::move(said));
        });
    }

private:
    mortise::promises less_;
};

// A store whose first claim fails.
class late_store final : public spi::store_wrapper {
public:
    late_store(const spi::context& outer, bool unreached, const spi::store_factory& inner)
        : store_wrapper(outer, inner), unreached_(unreached) {}
    void claim(const spi::claim_request& asked, spi::reply<spi::claim_answer> done) override {
        if (!std::exchange(failed_, true)) return done({.reason = errc::unreachable, .unreached = unreached_});
        store_wrapper::claim(asked, std::move(done));
    }

private:
    const bool unreached_;
    bool failed_ = false;
};

class field : public ::testing::Test {
protected:
    client modest(client_options options = fleet::quick()) {
        const auto factory = [this](const spi::context& outer) {
            return std::make_unique<less_promising>(outer, [this](const spi::context& inner) {
                return stores::memory::open(stores::memory::make_table(world.sim().world().clock))(inner);
            });
        };
        return spi::make_client(factory, world.sim().world(), std::move(options));
    }
    member with(const std::function<void(client_options&)>& change) {
        client_options options = fleet::quick();
        change(options);
        return world.join(std::move(options));
    }

    fleet world;
    member mine = world.join();
    member other = world.join();
};

// The structs have as many fields as are named here: a new one does not compile until it is added, and the count of
// tests below does not fit until it has one.
TEST(fields, each_has_a_test) {
    [[maybe_unused]] const auto& [wait, lease, renewing, ordered, kept, handed, released, durable, kept_idle,
                                  require_token, label, stop] = claim_options{};
    [[maybe_unused]] const auto& [name, capacity, weight, options] = claim{};
    [[maybe_unused]] const auto& [lease2, label2, require_token2, strict, durable2, hand_over_turns, kept_idle2, drift,
                                  margin, reply_timeout, patience, try_patience, release_wait, close_wait, observed] =
        client_options{};

    const auto tests_in = [](const std::string& suite) {
        const auto& all = *::testing::UnitTest::GetInstance();
        for (int i = 0; i < all.total_test_suite_count(); ++i)
            if (all.GetTestSuite(i)->name() == suite) return all.GetTestSuite(i)->total_test_count();
        return 0;
    };
    EXPECT_EQ(tests_in("claim_options_field"), 12);
    EXPECT_EQ(tests_in("claim_field"), 4);
    EXPECT_EQ(tests_in("client_options_field"), 15);
}

using claim_options_field = field;

TEST_F(claim_options_field, wait) {
    const hold held = other.locks.acquire("job");
    call unbounded(mine.locks, "job");
    call bounded(mine.locks, "job", {.wait = 3s});
    call none(mine.locks, "job", {.wait = 0s});
    world.advance(3s);
    EXPECT_FALSE(unbounded.answered());
    EXPECT_EQ(bounded.reason(), errc::timed_out);
    EXPECT_EQ(none.reason(), errc::busy);
}

TEST_F(claim_options_field, lease) {
    EXPECT_EQ(mine.locks.acquire("job", {.lease = 10s}).remaining(), 10s - 102ms);
    EXPECT_EQ(mine.locks.acquire("job", {.lease = 20s}).remaining(), 20s - 202ms);
}

TEST_F(claim_options_field, renew) {
    const hold on = mine.locks.acquire("on");
    const hold off = mine.locks.acquire("off", {.renew = renew::off});
    world.advance(1min);
    EXPECT_TRUE(on.valid());
    EXPECT_FALSE(off.valid());
}

TEST_F(claim_options_field, order) {
    client small = modest();
    EXPECT_TRUE(small.try_acquire("job", {.order = order::any}));
    const attempt demanded = small.try_acquire("job", {.order = order::fifo});
    EXPECT_EQ(demanded.reason(), errc::unsupported);
    EXPECT_NE(demanded.refusal().describe().find("order::fifo"), std::string::npos);
    EXPECT_TRUE(mine.locks.try_acquire("job", {.order = order::fifo}));
}

// The store says that it can wait for replicas, and notes how many it is asked for; its releases are never answered.
class replicated_store final : public spi::store_wrapper {
public:
    replicated_store(const spi::context& outer, const spi::store_factory& inner, std::vector<unsigned>& asked)
        : store_wrapper(outer, inner), asked_(asked) {
        promised_ = store_wrapper::promises();
        promised_.replicas = true;
    }
    const mortise::promises& promises() const noexcept override { return promised_; }
    void claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) override {
        asked_.push_back(wanted.replicas);
        store_wrapper::claim(wanted, std::move(done));
    }
    void release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer>) override {
        store_wrapper::release(name, id, [](spi::release_answer) {});
    }

private:
    mortise::promises promised_;
    std::vector<unsigned>& asked_;
};

client replicated(fleet& world, std::vector<unsigned>& asked, client_options options = fleet::quick()) {
    return spi::make_client(
        [&world, &asked](const spi::context& outer) {
            const auto inner = [&world](const spi::context& around) {
                return stores::memory::open(stores::memory::make_table(world.sim().world().clock))(around);
            };
            return std::make_unique<replicated_store>(outer, inner, asked);
        },
        world.sim().world(), std::move(options));
}

TEST_F(claim_options_field, release) {
    std::vector<unsigned> asked;
    client locks = replicated(world, asked);
    hold lazy = locks.acquire("job", {.release = release_mode::lazy});
    EXPECT_EQ(lazy.release(), release_result::sent);  // nobody waited: the clock stands still
    hold answered = mine.locks.acquire("job", {.release = release_mode::lazy});
    EXPECT_EQ(answered.release(), release_result::released);  // it was there already
}

TEST_F(claim_options_field, durability) {
    std::vector<unsigned> asked;
    client locks = replicated(world, asked);
    const hold one = locks.acquire("one");
    const hold two = locks.acquire("two", {.durability = durability::wait(2)});
    EXPECT_EQ(asked, (std::vector<unsigned>{0, 2}));
    const attempt refused = mine.locks.try_acquire("job", {.durability = durability::wait(1)});
    EXPECT_EQ(refused.reason(), errc::unsupported);
    EXPECT_NE(refused.refusal().describe().find("durability::wait"), std::string::npos);
}

TEST_F(claim_options_field, kept_by) {
    { const hold held = mine.locks.acquire("process"); }
    { const hold held = mine.locks.acquire("lease", {.kept_by = kept_by::lease}); }
    EXPECT_TRUE(world.free("process"));
    EXPECT_FALSE(world.free("lease"));
    EXPECT_EQ(modest().try_acquire("job", {.kept_by = kept_by::lease}).reason(), errc::unsupported);
}

TEST_F(claim_options_field, hand_over) {
    for (const auto how : {hand_over::on, hand_over::off}) {
        hold held = mine.locks.acquire("job", {.hand_over = how});
        call next(mine.locks, "job", {.hand_over = how});
        held.release();
        world.settle();
        EXPECT_EQ(next.hold().token().counter() == held.token().counter(), how == hand_over::on);
    }
}

TEST_F(claim_options_field, keep) {
    client small = modest();
    EXPECT_TRUE(small.try_acquire("job", {.keep = keep::off()}));
    const attempt refused = small.try_acquire("job", {.keep = keep::idle(1s)});
    EXPECT_EQ(refused.reason(), errc::unsupported);
    EXPECT_NE(refused.refusal().describe().find("keep::idle"), std::string::npos);
    EXPECT_TRUE(mine.locks.try_acquire("job", {.keep = keep::idle(1s)}));
}

TEST_F(claim_options_field, require_token) {
    client small = modest();
    const hold held = small.acquire("job");
    std::error_code ec;
    EXPECT_EQ(held.token(ec), token{});
    EXPECT_EQ(ec, errc::no_token);
    EXPECT_THROW(static_cast<void>(held.token()), error);
    EXPECT_EQ(small.try_acquire("other", {.require_token = true}).reason(), errc::no_token);
    EXPECT_TRUE(mine.locks.try_acquire("job", {.require_token = true}));
}

TEST_F(claim_options_field, label) {
    const hold held = mine.locks.acquire("job", {.label = "nightly"});
    const attempt refused = other.locks.try_acquire("job");
    EXPECT_EQ(refused.refusal().holder->label, "nightly");
    EXPECT_NE(refused.refusal().describe().find("nightly"), std::string::npos);
}

TEST_F(claim_options_field, stop) {
    const hold held = other.locks.acquire("job");
    std::stop_source stop;
    call with_it(mine.locks, "job", {.stop = stop.get_token()});
    call without(mine.locks, "job");
    stop.request_stop();
    world.settle();
    EXPECT_EQ(with_it.reason(), errc::cancelled);
    EXPECT_FALSE(without.answered());
}

using claim_field = field;

TEST_F(claim_field, name) {
    call one(mine.locks, claim{.name = "one"});
    call two(other.locks, claim{.name = "two"});
    call again(other.locks, claim{.name = "one"});
    world.settle();
    EXPECT_TRUE(one.granted());
    EXPECT_TRUE(two.granted());
    EXPECT_FALSE(again.answered());
}

TEST_F(claim_field, capacity) {
    call first(mine.locks, claim{.name = "pool", .capacity = 2});
    call second(other.locks, claim{.name = "pool", .capacity = 2});
    call third(other.locks, claim{.name = "pool", .capacity = 2});
    world.settle();
    EXPECT_TRUE(first.granted());
    EXPECT_TRUE(second.granted());
    EXPECT_FALSE(third.answered());
}

TEST_F(claim_field, weight) {
    call big(mine.locks, claim{.name = "pool", .capacity = 3, .weight = 2});
    call too_big(other.locks, claim{.name = "pool", .capacity = 3, .weight = 2});
    world.settle();
    EXPECT_TRUE(big.granted());
    EXPECT_FALSE(too_big.answered());
    big.hold().release();
    world.settle();
    EXPECT_TRUE(too_big.granted());
    call fits(mine.locks, claim{.name = "pool", .capacity = 3, .weight = 1});
    world.settle();
    EXPECT_TRUE(fits.granted());
}

TEST_F(claim_field, options) {
    call one(mine.locks, claim{.name = "job", .options = {.lease = 10s}});
    world.settle();
    EXPECT_EQ(one.hold().remaining(), 10s - 102ms);
}

using client_options_field = field;

TEST_F(client_options_field, strict) {
    for (const bool wanted : {false, true}) {
        client_options options = fleet::quick();
        options.strict = wanted;
        bool told = !wanted;
        const client locks = spi::make_client(
            [&](const spi::context& outer) {
                told = outer.strict;
                return stores::memory::open(stores::memory::make_table(world.sim().world().clock))(outer);
            },
            world.sim().world(), options);
        EXPECT_EQ(told, wanted);
    }
}

TEST_F(client_options_field, durability) {
    std::vector<unsigned> asked;
    client_options options = fleet::quick();
    options.durability = durability::wait(3);
    client locks = replicated(world, asked, options);
    const hold three = locks.acquire("three");
    const hold none = locks.acquire("none", {.durability = durability::master()});
    EXPECT_EQ(asked, (std::vector<unsigned>{3, 0}));
}

TEST_F(client_options_field, keep) {
    client_options options = fleet::quick();
    options.keep = keep::idle();
    client small = modest(options);
    EXPECT_EQ(small.try_acquire("job").reason(), errc::unsupported);
    EXPECT_TRUE(small.try_acquire("job", {.keep = keep::off()}));
    EXPECT_TRUE(small.try_acquire("job", {.hand_over = hand_over::off})) << "what is never kept is not refused";
}

TEST_F(client_options_field, lease) {
    member brief = with([](auto& o) { o.lease = 10s; });
    EXPECT_EQ(brief.locks.acquire("job").remaining(), 10s - 102ms);
    EXPECT_EQ(brief.locks.acquire("job", {.lease = 20s}).remaining(), 20s - 202ms);
}

TEST_F(client_options_field, label) {
    member named = with([](auto& o) { o.label = "web-3"; });
    const hold held = named.locks.acquire("job");
    const hold own = named.locks.acquire("own", {.label = "report"});
    const hold plain = other.locks.acquire("plain");
    EXPECT_EQ(mine.locks.try_acquire("job").refusal().holder->label, "web-3");
    EXPECT_EQ(mine.locks.try_acquire("own").refusal().holder->label, "report");
    EXPECT_EQ(mine.locks.try_acquire("plain").refusal().holder->label, ::program_invocation_short_name);
}

TEST_F(client_options_field, require_token) {
    client_options options = fleet::quick();
    options.require_token = true;
    try {
        modest(options);
        FAIL() << "made a client on a store without tokens";
    } catch (const error& e) {
        EXPECT_EQ(e.code(), errc::no_token);
    }
}

TEST_F(client_options_field, hand_over_turns) {
    for (const unsigned turns : {0u, 1u, 2u}) {
        member one = with([&](auto& o) { o.hand_over_turns = turns; });
        hold held = one.locks.acquire("job");
        call next(one.locks, "job");
        held.release();
        world.settle();
        EXPECT_EQ(next.hold().token().counter() == held.token().counter(), turns == 2);
    }
}

TEST_F(client_options_field, drift) {
    member drifting = with([](auto& o) { o.drift = 0.1; });
    EXPECT_EQ(drifting.locks.acquire("job").remaining(), 27s - 2ms);
}

TEST_F(client_options_field, margin) {
    member careful = with([](auto& o) { o.margin = 5s; });
    EXPECT_EQ(careful.locks.acquire("job").remaining(), 30s - 300ms - 5s);
}

TEST_F(client_options_field, reply_timeout) {
    member hasty = with([](auto& o) { o.reply_timeout = 50ms; });
    hasty.net->lose_replies(verb::claim);
    mine.net->lose_replies(verb::claim);
    call soon(hasty.locks, "soon");
    call later(mine.locks, "later");
    world.advance(50ms);
    EXPECT_TRUE(soon.granted());
    EXPECT_FALSE(later.answered());
    world.advance(950ms);
    EXPECT_TRUE(later.granted());
}

TEST_F(client_options_field, patience) {
    member patient = with([](auto& o) { o.patience = 1min; });
    patient.net->freeze();
    mine.net->freeze();
    call more(patient.locks, "job");
    call less(mine.locks, "job");
    world.advance(10s);
    EXPECT_EQ(less.reason(), errc::unreachable);
    EXPECT_FALSE(more.answered());
    world.advance(50s);
    EXPECT_EQ(more.reason(), errc::unreachable);
}

TEST_F(client_options_field, try_patience) {
    const auto failing = [this](std::optional<std::chrono::nanoseconds> patience, bool unreached) {
        client_options options = fleet::quick();
        options.try_patience = patience;
        const auto factory = [this, unreached](const spi::context& outer) {
            return std::make_unique<late_store>(outer, unreached, [this](const spi::context& inner) {
                return stores::memory::open(stores::memory::make_table(world.sim().world().clock))(inner);
            });
        };
        return spi::make_client(factory, world.sim().world(), std::move(options));
    };
    client hasty = failing(0s, true);
    client patient = failing(std::nullopt, true);
    client waiting = failing(0s, true);
    client unsure = failing(0s, false);
    call tries(hasty, "n", {.wait = 0s});
    call asks_again(patient, "n", {.wait = 0s});
    call waits(waiting, "n");
    call doubts(unsure, "n", {.wait = 0s});
    world.settle();
    EXPECT_EQ(tries.reason(), errc::unreachable) << "nobody there is the answer";
    EXPECT_FALSE(asks_again.answered());
    world.advance(1s);
    EXPECT_TRUE(asks_again.granted());
    EXPECT_TRUE(waits.granted()) << "who waits has patience";
    EXPECT_TRUE(doubts.granted()) << "a lost answer is no reason to give up";
}

TEST_F(client_options_field, release_wait) {
    member waits = with([](auto& o) { o.release_wait = 1h; });
    hold held = waits.locks.acquire("job");
    waits.net->freeze();
    std::thread rescue([&] {
        EXPECT_TRUE(eventually([&] { return waits.net->calls(verb::release) == 1; }));
        waits.net->thaw();
    });
    EXPECT_EQ(held.release(), release_result::released);
    rescue.join();

    hold hurried = mine.locks.acquire("job");
    mine.net->freeze();
    EXPECT_EQ(hurried.release(), release_result::unknown);
}

TEST_F(client_options_field, close_wait) {
    for (const bool waits : {true, false}) {
        member leaving = with([&](auto& o) { o.close_wait = waits ? 1h : 0s; });
        const auto net = leaving.net;
        const hold held = leaving.locks.acquire("job");
        net->freeze();
        std::thread rescue([&] {
            if (!waits) return;
            EXPECT_TRUE(eventually([&] { return net->calls(verb::release) == 1; }));
            net->thaw();
        });
        { const client gone = std::move(leaving.locks); }
        rescue.join();
        EXPECT_EQ(net->arrived(verb::release), waits ? 1u : 0u);
        net->thaw();
    }
}

TEST_F(client_options_field, observer) {
    auto seen = std::make_shared<recording_observer>();
    member watched = with([&](auto& o) { o.observer = seen; });
    watched.locks.acquire("job").release();
    world.settle();
    EXPECT_EQ(seen->story("job"), "claimed granted released");
}

}  // namespace
}  // namespace mortise::testing
