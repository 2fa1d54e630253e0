// One suite for every store and kind: what the tests of this folder have in common.
//
//     class exclusion : public lock_suite {};  // each test runs for every store x kind
//     EVERY_STORE_AND_KIND(exclusion);
//     TEST_P(exclusion, ...) { client locks = make_client(); auto lock = make_lock(locks, "name"); ... }
//
// A pair that a store's fixture has a reason against is left out; matrix_test.cpp sees to it that no other is. What a store
// need not promise (tokens, lists, a line of waiters, upgrades, ...) a test asks for first, with can(): without it, it expects
// the refusal or skips and says why. Stores that promise less than ours run too (support/test_stores.hpp).
//
// All tests run on real clocks and threads, and the slowest server that is still correct must pass them: waits that ought to
// succeed are bounded by `plenty`, which a passing test never uses up.
#pragma once

#include "conformance/kinds.hpp"
#include "support/test_stores.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>
#include <mortise/error.hpp>
#include <mortise/spi/fixture.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::testing {

// Longer than anything here takes, shorter than the default lease: what is free only because a lease ran out comes too
// late.
inline constexpr std::chrono::seconds plenty{20};

// What `ask` says to a wait as short as `wait`. A store on a busy machine may not have answered at all by then, which is an
// error and not a no, or the time may have been over before it came to what is looked for (`in_time`); it is then asked
// again and given twice the time.
template <class Ask>
auto answer_to(std::chrono::nanoseconds wait, Ask ask, auto in_time) {
    for (;; wait *= 2) {
        try {
            auto said = ask(wait);
            if constexpr (requires { said.reason(); })
                if (said.reason() == errc::unreachable && wait < plenty) continue;
            if (in_time(said) || wait >= plenty) return said;
        } catch (const error& e) {
            if (e.code() != errc::unreachable || wait >= plenty) throw;
        }
    }
}

template <class Ask>
auto answer_to(std::chrono::nanoseconds wait, Ask ask) {
    return answer_to(wait, std::move(ask), [](const auto&) { return true; });
}

// The fixtures of this program, one each; their servers start when first used and stop at exit.
inline const std::vector<std::unique_ptr<spi::fixture>>& fixtures() {
    static const auto all = [] {
        auto found = spi::all_fixtures();
        for (auto& one : wrapped_fixtures()) found.push_back(std::move(one));
        return found;
    }();
    return all;
}

// A lock that the handle form takes, client::acquire, counts as this kind.
inline constexpr std::string_view handle_kind = "mutex";

struct pairing {
    spi::fixture* store;
    const mortise::testing::kind* kind;  // none: the handle form

    std::string name() const {
        const std::string of(store->store());
        return kind != nullptr ? of + "_" + std::string(kind->name) : of;
    }
    std::string reason_against() const { return store->reason_against(kind != nullptr ? kind->name : handle_kind); }
    friend void PrintTo(const pairing& p, std::ostream* out) { *out << p.name(); }
};

inline std::vector<pairing> every_store_and_kind() {
    std::vector<pairing> all;
    for (const auto& store : fixtures())
        for (const kind& k : all_kinds()) all.push_back({store.get(), &k});
    return all;
}
inline std::vector<pairing> every_store() {
    std::vector<pairing> all;
    for (const auto& store : fixtures()) all.push_back({store.get(), nullptr});
    return all;
}
// For suites that are not about the store: one arrangement of each is enough.
inline std::vector<pairing> every_plain_store() {
    static const auto plain = spi::plain_fixtures();
    std::vector<pairing> all;
    for (const auto& store : plain) all.push_back({store.get(), nullptr});
    return all;
}
inline std::vector<pairing> able(std::vector<pairing> pairs) {
    std::erase_if(pairs, [](const pairing& p) { return !p.reason_against().empty(); });
    return pairs;
}
inline std::string name_of_pair(const ::testing::TestParamInfo<pairing>& info) {
    return info.param.name();
}

// With MORTISE_TEST_KEEP clients keep their idle locks, and only stores that can tell them when others ask are tested.
inline bool keeps_locks() {
    static const bool whether = std::getenv("MORTISE_TEST_KEEP") != nullptr;
    return whether;
}
// Whether another client gets at once what was just unlocked; or, if it is kept, once the keeper has heard of that: on a busy machine
// that takes longer than one call looks again.
template <class Try>
bool gets_what_was_unlocked(Try get) {
    return keeps_locks() ? eventually(get) : get();
}

class store_suite : public ::testing::TestWithParam<pairing> {
protected:
    store_suite() {
        const ::testing::TestInfo& now = *::testing::UnitTest::GetInstance()->current_test_info();
        const auto between_slashes = [](std::string_view name) {  // "every_store/audits", "convict_a_store/host"
            const auto slash = name.find('/');
            return std::string(name.starts_with("every_") ? name.substr(slash + 1) : name.substr(0, slash));
        };
        const std::string suite = between_slashes(now.test_suite_name());
        for (const std::string& each : {suite, suite + "." + between_slashes(now.name())})
            if (const std::string why = GetParam().store->reason_against(each); !why.empty())
                [&] { GTEST_SKIP() << why; }();
    }

    static client_options patient(client_options options = {}) {
        options.reply_timeout = std::chrono::seconds{15};
        options.patience = plenty;
        options.release_wait = plenty;
        options.close_wait = plenty;
        return options;
    }
    client make_client(client_options options = {}) const {
        if (keeps_locks()) options.keep = keep::idle();
        return client_at(*GetParam().store, url_, patient(std::move(options)));
    }
    spi::store_factory store_at_url() const { return store_at(*GetParam().store, url_); }
    const std::string& url() const noexcept { return url_; }
    // Whether the address is all that is needed to open the store, also for another program.
    bool opened_by_address() const { return !is_wrapped(*GetParam().store); }

    // What the store under test promises.
    const mortise::promises& can() const {
        std::call_once(asked_, [this] { can_ = make_client().promises(); });
        return can_;
    }
    // Whether a refusal says who holds the lock. If not, it is shown as another program's.
    bool names_holders() const { return GetParam().store->reason_against("names of holders").empty(); }
    bool names_tokens_of_holders() const {
        return can().tokens && GetParam().store->reason_against("tokens of holders").empty();
    }

    // Reasons to skip a test.
    static constexpr const char* no_line = "the store keeps no line: whoever waits is in nobody's way";
    static constexpr const char* no_lists =
        "the store cannot list locks, and refuses to (lists_not_promised.are_refused_by_name)";
    static constexpr const char* no_tokens = "the store has no tokens, and no hold can be named without";
    static constexpr const char* no_address = "a store in front of another is not opened by an address";

    // The token of a hold; none if the store has none, and then the hold must say so.
    token token_of(const mortise::hold& held) const {
        std::error_code ec;
        const token its = held.token(ec);
        EXPECT_EQ(ec, can().tokens ? std::error_code{} : make_error_code(errc::no_token));
        return its;
    }
    void expect_later(const token& later, const token& earlier) const {
        if (can().tokens) {
            EXPECT_GT(later, earlier);
        }
    }

    // As short a lease as the store keeps to, but not so short that a busy machine loses it at once.
    std::chrono::milliseconds short_lease() const {
        return std::max(std::chrono::milliseconds{500}, GetParam().store->frees_the_dead_after());
    }

    // Afterwards it is connected.
    static void meet_the_store(client& locks) { ASSERT_TRUE(locks.try_acquire("a first meeting")); }

    // How often to do something about which others wait. Each wait takes a moment where waiters poll.
    std::uint64_t rounds(std::uint64_t n) const { return scale(can().pushes ? n : (n + 19) / 20); }

private:
    const std::string url_ = GetParam().store->fresh_url();
    mutable std::once_flag asked_;
    mutable mortise::promises can_;
};

class lock_suite : public store_suite {
protected:
    std::unique_ptr<lock_driver> make_lock(client& locks, std::string_view name, claim_options options = {}) const {
        return GetParam().kind->make(locks, name, std::move(options));
    }
    bool reentrant() const noexcept { return GetParam().kind->reentrant; }
};

}  // namespace mortise::testing

// NOLINTBEGIN(cppcoreguidelines-macro-usage): gtest takes the suite's name as a token
#define EVERY_STORE_AND_KIND(suite)                                                                                 \
    INSTANTIATE_TEST_SUITE_P(every_store_and_kind, suite,                                                           \
                             ::testing::ValuesIn(mortise::testing::able(mortise::testing::every_store_and_kind())), \
                             mortise::testing::name_of_pair)
#define EVERY_STORE(suite)                                                                                 \
    INSTANTIATE_TEST_SUITE_P(every_store, suite,                                                           \
                             ::testing::ValuesIn(mortise::testing::able(mortise::testing::every_store())), \
                             mortise::testing::name_of_pair)
#define EVERY_PLAIN_STORE(suite)                                                                                 \
    INSTANTIATE_TEST_SUITE_P(every_store, suite,                                                                 \
                             ::testing::ValuesIn(mortise::testing::able(mortise::testing::every_plain_store())), \
                             mortise::testing::name_of_pair)
// NOLINTEND(cppcoreguidelines-macro-usage)
