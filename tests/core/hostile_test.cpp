// Hostile input: a documented code, a message that says what to do, and nothing created.
#include "fleet.hpp"

#include <mortise/error.hpp>
#include <mortise/mutex.hpp>
#include <mortise/recursive_mutex.hpp>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

struct verdict {
    std::error_code code;
    std::string what;
};

template <class Call>
verdict verdict_of(Call&& call) {
    try {
        call();
    } catch (const error& e) {
        return {e.code(), e.what()};
    }
    return {};
}

class hostile : public ::testing::Test {
protected:
    // Whatever was asked, nothing has come of it.
    void expect_nothing_created() {
        EXPECT_TRUE(world.empty());
        EXPECT_EQ(world.table().names(), 0u);
        EXPECT_EQ(mine.net->calls(verb::claim), 0u);
        EXPECT_EQ(mine.net->calls(verb::release), 0u);
    }
    void expect_invalid(const claim& wanted, const std::string& advice) {
        bool called = false;
        const verdict said = verdict_of([&] { mine.locks.start(wanted, [&](attempt) { called = true; }); });
        EXPECT_EQ(said.code, errc::invalid_option);
        EXPECT_EQ(said.code, std::errc::invalid_argument);
        EXPECT_THAT(said.what, HasSubstr(advice));
        world.settle();
        EXPECT_FALSE(called);
    }
    void expect_invalid(const claim_options& options, const std::string& advice) {
        expect_invalid(claim{.name = "job", .options = options}, advice);
        std::error_code ec;
        EXPECT_FALSE(mine.locks.acquire("job", options, ec));
        EXPECT_EQ(ec, errc::invalid_option);
    }

    fleet world;
    member mine = world.join();
    member other = world.join();
};

std::vector<std::string> bad_names() {
    return {
        "",
        std::string(201, 'x'),
        std::string(1u << 20, 'x'),
        std::string("nul\0inside", 10),
        "line\nbreak",
        "escape\x1b[2J",
        "\x7f",
        "\xc2\x80",          // a control character in two bytes
        "\xff\xfe",          // not UTF-8
        "cut\xe2\x82",       // half a character
        "\xc0\xaf",          // '/' the long way round
        "\xed\xa0\x80",      // half a surrogate pair
        "\xf4\x90\x80\x80",  // beyond Unicode
    };
}

TEST_F(hostile, a_bad_name_is_refused_by_every_verb_with_what_is_allowed) {
    for (const std::string& name : bad_names()) {
        SCOPED_TRACE(name.substr(0, 20));
        const std::function<void()> verbs[] = {
            [&] { static_cast<void>(mine.locks.try_acquire(name)); },
            [&] { static_cast<void>(mine.locks.acquire(name)); },
            [&] { mine.locks.start({.name = name}, [](attempt) { FAIL() << "was answered"; }); },
            [&] { mortise::mutex door(mine.locks, name); },
            [&] { recursive_mutex door(mine.locks, name); },
        };
        for (const auto& use : verbs) {
            const verdict said = verdict_of(use);
            EXPECT_EQ(said.code, errc::invalid_name);
            EXPECT_THAT(said.what, HasSubstr("1 to 200 bytes of UTF-8"));
            EXPECT_LT(said.what.size(), 500u);  // not a megabyte in a log
            EXPECT_EQ(said.what.find_first_of(std::string("\0\n\x1b\x7f\xff", 5)), std::string::npos);
        }
        std::error_code ec;
        EXPECT_FALSE(mine.locks.acquire(name, {}, ec));
        EXPECT_EQ(ec, errc::invalid_name);
    }
    expect_nothing_created();
}

TEST_F(hostile, releasing_by_a_bad_name_is_refused_too) {
    for (const std::string& name : bad_names()) {
        std::error_code ec;
        EXPECT_EQ(mine.locks.release(name, claim_id::random(), ec), release_result::unknown);
        EXPECT_EQ(ec, errc::invalid_name);
    }
    expect_nothing_created();
}

TEST_F(hostile, bad_durations_of_a_claim_are_refused_with_the_range) {
    for (const std::chrono::nanoseconds lease : {0ns, -1ns, 99'999'999ns, std::chrono::nanoseconds(24h) + 1ns,
                                                 std::chrono::nanoseconds::max(), std::chrono::nanoseconds::min()}) {
        SCOPED_TRACE(lease.count());
        expect_invalid({.lease = lease}, "100 ms to 24 h");
    }
    for (const std::chrono::nanoseconds wait : {-1ns, std::chrono::nanoseconds(-1h), std::chrono::nanoseconds::min()})
        expect_invalid({.wait = wait}, "use zero for no wait");
    expect_nothing_created();
}

TEST_F(hostile, an_absurdly_long_wait_is_a_wait_for_ever) {
    hold held = other.locks.acquire("job");
    call patient(mine.locks, "job", {.wait = std::chrono::nanoseconds::max()});
    world.advance(24h);
    EXPECT_FALSE(patient.answered());
    held.release();
    world.settle();
    EXPECT_TRUE(patient.granted());
}

TEST_F(hostile, absurd_waits_of_a_mutex_are_bounded) {
    mortise::mutex door(mine.locks, "door");
    EXPECT_TRUE(door.try_lock_for(std::chrono::years::max()));
    door.unlock();
    EXPECT_TRUE(door.try_lock_until(boot_clock::time_point::max()));
    door.unlock();
    const hold held = other.locks.acquire("door");
    EXPECT_FALSE(door.try_lock_for(-1s));
    EXPECT_FALSE(door.try_lock_for(std::chrono::duration<double>(std::nan(""))));
    EXPECT_FALSE(door.try_lock_until(boot_clock::time_point::min()));
}

TEST_F(hostile, bad_labels_are_refused) {
    expect_invalid({.label = std::string(201, 'x')}, "at most 200 bytes");
    expect_invalid({.label = "two\nlines"}, "without control characters");
    expect_invalid({.label = "\xff"}, "UTF-8");
    expect_nothing_created();
}

TEST_F(hostile, bad_weights_and_capacities_are_refused_with_the_range) {
    expect_invalid({.name = "job", .capacity = 0, .weight = 1}, "capacity of 0: use 1 to 2147483648");
    expect_invalid({.name = "job", .capacity = (1u << 31) + 1}, "use 1 to 2147483648");
    expect_invalid({.name = "job", .capacity = 5, .weight = 0}, "weight of 0: use 1 to the capacity, 5");
    expect_invalid({.name = "job", .capacity = 5, .weight = 6}, "weight of 6: use 1 to the capacity, 5");
    expect_nothing_created();
}

TEST_F(hostile, claims_that_disagree_on_capacity_are_a_kind_mismatch) {
    call five(mine.locks, claim{.name = "pool", .capacity = 5});
    call three(other.locks, claim{.name = "pool", .capacity = 3});
    call whole(mine.locks, "pool");
    world.settle();
    ASSERT_TRUE(five.granted());
    for (const call* refused : {&three, &whole}) {
        EXPECT_EQ(refused->reason(), errc::kind_mismatch);
        EXPECT_THAT(refused->refusal().describe(), HasSubstr("in use as 5 permits"));
        EXPECT_THAT(refused->refusal().describe(), HasSubstr("must agree"));
    }
    EXPECT_EQ(world.table().list().size(), 1u);
    EXPECT_EQ(world.waiting("pool"), 0u);
    EXPECT_TRUE(five.hold().valid());
}

TEST_F(hostile, bad_client_options_are_refused_at_construction_by_field) {
    using change = std::function<void(client_options&)>;
    const std::pair<const char*, change> cases[] = {
        {"lease", [](auto& o) { o.lease = 0s; }},
        {"lease", [](auto& o) { o.lease = -1s; }},
        {"lease", [](auto& o) { o.lease = 25h; }},
        {"label", [](auto& o) { o.label = "\n"; }},
        {"label", [](auto& o) { o.label = std::string(1u << 20, 'x'); }},
        {"hand_over_turns", [](auto& o) { o.hand_over_turns = 1024; }},
        {"hand_over_turns", [](auto& o) { o.hand_over_turns = std::numeric_limits<unsigned>::max(); }},
        {"drift", [](auto& o) { o.drift = -0.01; }},
        {"drift", [](auto& o) { o.drift = 0.51; }},
        {"drift", [](auto& o) { o.drift = std::nan(""); }},
        {"drift", [](auto& o) { o.drift = std::numeric_limits<double>::infinity(); }},
        {"margin", [](auto& o) { o.margin = -1ns; }},
        {"margin", [](auto& o) { o.margin = std::chrono::nanoseconds::max(); }},
        {"reply_timeout", [](auto& o) { o.reply_timeout = 0ns; }},
        {"reply_timeout", [](auto& o) { o.reply_timeout = -1s; }},
        {"reply_timeout", [](auto& o) { o.reply_timeout = std::chrono::nanoseconds::max(); }},
        {"patience", [](auto& o) { o.patience = -1s; }},
        {"patience", [](auto& o) { o.patience = std::chrono::nanoseconds::max(); }},
        {"release_wait", [](auto& o) { o.release_wait = -1s; }},
        {"release_wait", [](auto& o) { o.release_wait = 25h; }},
        {"close_wait", [](auto& o) { o.close_wait = std::chrono::nanoseconds::min(); }},
        {"close_wait", [](auto& o) { o.close_wait = 25h; }},
    };
    for (const auto& one : cases) {
        client_options options;
        one.second(options);
        const verdict said = verdict_of([&] { client locks("memory:", options); });
        EXPECT_EQ(said.code, errc::invalid_option) << one.first;
        EXPECT_THAT(said.what, HasSubstr(one.first));
        EXPECT_THAT(said.what, HasSubstr("use "));
    }
}

TEST_F(hostile, a_margin_that_leaves_nothing_of_the_lease_is_refused) {
    client_options options = fleet::quick();
    options.margin = 1min;
    member careful = world.join(options);
    const verdict said = verdict_of([&] { static_cast<void>(careful.locks.try_acquire("job")); });
    EXPECT_EQ(said.code, errc::invalid_option);
    EXPECT_THAT(said.what, HasSubstr("margin"));
    EXPECT_TRUE(careful.locks.try_acquire("job", {.lease = 3min}));
    EXPECT_TRUE(world.empty());
}

TEST_F(hostile, a_store_address_with_a_typo_says_what_was_meant) {
    const verdict said = verdict_of([] { client locks("memry:"); });
    EXPECT_EQ(said.code, errc::unknown_store);
    EXPECT_EQ(said.code, std::errc::invalid_argument);
    EXPECT_THAT(said.what, HasSubstr("did you mean memory:"));

    const verdict far = verdict_of([] { client locks("chubby://cell/lock"); });
    EXPECT_EQ(far.code, errc::unknown_store);
    EXPECT_THAT(far.what, HasSubstr("this build has"));
    EXPECT_THAT(far.what, HasSubstr("memory:"));
    EXPECT_THAT(far.what, Not(HasSubstr("did you mean")));
}

TEST_F(hostile, without_an_address_the_environment_names_the_store) {
    ::setenv("MORTISE_STORE", "memory:of-the-environment", 1);
    EXPECT_EQ(client{}.store(), "memory:of-the-environment");
    EXPECT_EQ(client{client_options{.label = "cron"}}.store(), "memory:of-the-environment");
    ::setenv("MORTISE_STORE", "memry:", 1);
    EXPECT_EQ(verdict_of([] { client locks; }).code, errc::unknown_store);
    ::setenv("MORTISE_STORE", "", 1);
    const verdict empty = verdict_of([] { client locks; });
    EXPECT_EQ(empty.code, errc::bad_url) << "a variable that got lost is no wish for host:";
    EXPECT_THAT(empty.what, HasSubstr("MORTISE_STORE is set but empty"));
    ::unsetenv("MORTISE_STORE");
    try {
        EXPECT_EQ(client{}.store(), "host:");
    } catch (const error& e) {  // a build without it
        EXPECT_EQ(e.code(), errc::unknown_store);
    }
}

TEST_F(hostile, a_store_address_that_cannot_be_read_says_what_is_expected) {
    for (const std::string& address :
         {std::string{}, std::string("memory"), std::string(":"), std::string("MEMORY:"), std::string("memory://x"),
          std::string("memory:?lease=3"), std::string("memory://"), std::string("chubby://"),
          std::string("chubby://h:0"), std::string("chubby://h:65536"), std::string("chubby://h?x"),
          std::string("chubby://h?a=1&a=2"), std::string("memory:%zz"), std::string("memory:%4"),
          std::string("memory:\n"), std::string("memory:\0", 8), "memory:" + std::string(1u << 20, 'x')}) {
        const verdict said = verdict_of([&] { client locks(address); });
        EXPECT_EQ(said.code, errc::bad_url) << address.substr(0, 40);
        EXPECT_THAT(said.what, HasSubstr("store address"));
        EXPECT_LT(said.what.size(), 500u);
    }
    EXPECT_THAT(verdict_of([] { client locks("memory://x"); }).what, HasSubstr("memory: or memory:NAME"));
    EXPECT_THAT(verdict_of([] { client locks(""); }).what, HasSubstr("expected SCHEME:"));
}

TEST_F(hostile, no_message_shows_a_password_however_the_address_is_misspelt) {
    for (const char* address : {
             "chubby://admin:s3cret@host",       // no such store
             "chubby://:s3cret@host",            // no user
             "chubby://admin:s3cret@",           // no host
             "chubby://admin:s3cret@host:port",  // no number
             "chubby://admin:s3cret@a:1,b:x",    // second host
             "chubby://admin:s3cret@host?x",     // bad option
             "chubby://admin:pa/s3cret@host",    // an unescaped slash
             "chubby://admin:s3cret/x@host",     // and what comes before it
             "chubby://admin:s3cret?a=b@host",   // likewise
             "admin:s3cret@host",                // nothing but the secret
             "chubby://admin:pa?s3cret@host",    // an unescaped question mark
             "chubby://admin:pa@s3cret@host",    // an unescaped @
             "chubby://admin:s3cret%@host",      // an unescaped %
             "chubby:/admin:s3cret@host",        // a slash is missing
             "chubby:admin:s3cret@host",         // two are
             "Chubby://admin:s3cret@host",       // a capital
             "//admin:s3cret@host",              // no scheme
             "memory://admin:s3cret@host",       // a store that wants no host
         }) {
        const verdict said = verdict_of([&] { client locks(address); });
        EXPECT_TRUE(said.code == errc::bad_url || said.code == errc::unknown_store) << address;
        EXPECT_THAT(said.what, Not(HasSubstr("s3cret"))) << address;
    }
}

TEST_F(hostile, odd_names_are_legal_and_meet_no_other_name) {
    const std::vector<std::string> names = {".",
                                            "..",
                                            "../..",
                                            "/",
                                            "//",
                                            "a",
                                            "b",
                                            "a/b",
                                            "a//b",
                                            "a/../b",
                                            "/a",
                                            "a/",
                                            "{}",
                                            "{a}",
                                            "{a}b",
                                            "{b}a",
                                            "{",
                                            "}",
                                            "%",
                                            "%2F",
                                            "a%2Fb",
                                            "%25",
                                            "%s%n",
                                            " ",
                                            "a ",
                                            " a",
                                            "A",
                                            "*",
                                            "?",
                                            "a*",
                                            ":",
                                            "a:b",
                                            "a,b",
                                            "a=b",
                                            "a&b",
                                            "'",
                                            "\"",
                                            "\\",
                                            "\\n",
                                            "`id`",
                                            "$(id)",
                                            "; DROP TABLE locks",
                                            "-rf",
                                            "\xc3\xa9",
                                            "e\xcc\x81",
                                            "e",
                                            "\xf0\x9f\x94\x92",
                                            std::string(200, 'x'),
                                            std::string(199, 'x')};
    std::vector<hold> held;
    for (std::size_t i = 0; i < names.size(); ++i) {
        member& who = i % 2 == 0 ? mine : other;
        attempt got = who.locks.try_acquire(names[i]);
        ASSERT_TRUE(got) << names[i];
        EXPECT_EQ(got->name(), names[i]);
        held.push_back(*std::move(got));
    }
    EXPECT_EQ(world.table().list().size(), names.size());
    for (const hold& one : held) EXPECT_TRUE(one.valid());
    for (std::size_t i = 0; i < names.size(); ++i) {
        member& stranger = i % 2 == 0 ? other : mine;
        EXPECT_EQ(stranger.locks.try_acquire(names[i]).reason(), errc::busy) << names[i];
    }
}

}  // namespace
}  // namespace mortise::testing
