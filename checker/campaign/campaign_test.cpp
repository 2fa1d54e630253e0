// The parts of a campaign that need no store. `mortise-check --private host` is a test of its own.
#include "checker/campaign/address.hpp"
#include "checker/campaign/judging.hpp"
#include "checker/campaign/resource.hpp"
#include "checker/campaign/trouble.hpp"
#include "checker/report/report.hpp"
#include "checker/verdict/fence.hpp"
#include "checker/verdict/written_history.hpp"
#include "support/children.hpp"

#include <sstream>

#include <gtest/gtest.h>

namespace {

using namespace mortise::checker;

TEST(campaign_addresses, are_those_before_which_a_proxy_can_stand) {
    const auto redis = address_in("redis://user:se@cret@127.0.0.1:7000?prefix=a");
    ASSERT_TRUE(redis);
    EXPECT_EQ(redis->port, 7000);
    EXPECT_EQ(redis->through(9000), "redis://user:se@cret@127.0.0.1:9000?prefix=a");
    const auto usual = address_in("etcd://localhost/");
    ASSERT_TRUE(usual);
    EXPECT_EQ(usual->through(9000), "etcd://127.0.0.1:9000/");
    for (const char* none : {"host:/tmp/x", "rediss://127.0.0.1", "etcd://127.0.0.1:1,127.0.0.1:2", "redis://10.0.0.5",
                             "redis+sentinel://127.0.0.1/m", "redis://", "redis://127.0.0.1:port"})
        EXPECT_FALSE(address_in(none)) << none;
}

TEST(campaign_resource, refuses_who_is_older_once_it_is_sealed) {
    resource_state fenced{true};
    EXPECT_TRUE(fenced.ask({act::seal, 0, 5}).done);
    EXPECT_TRUE(fenced.ask({act::write, 0, 5, 77}).done);
    EXPECT_TRUE(fenced.ask({act::seal, 0, 6}).done);
    EXPECT_FALSE(fenced.ask({act::write, 0, 5, 78}).done);
    EXPECT_FALSE(fenced.ask({act::read, 0, 5}).done);
    EXPECT_FALSE(fenced.ask({act::seal, 0, 5}).done);
    EXPECT_EQ(fenced.ask({act::read, 0, 6}).value, 77U);
    resource_state open{false};
    EXPECT_TRUE(open.ask({act::write, 0, 5, 77}).done);
    EXPECT_TRUE(open.ask({act::write, 0, 4, 78}).done) << "whoever comes";
}

TEST(campaign_resource, serves_through_a_socket_and_notes_what_it_did) {
    const mortise::testing::scratch_directory home;
    history_log notes{home / "log", 100};
    {
        const resource_server serving{home / "socket", notes, true};
        resource_client one{home / "socket"};
        resource_client two{home / "socket"};
        EXPECT_TRUE(one.ask({act::seal, 3, 5})->done);
        EXPECT_EQ(serving.amid(), 0);
        EXPECT_TRUE(one.ask({act::write, 3, 5, 11, 0})->done);
        EXPECT_TRUE(two.ask({act::seal, 3, 6})->done);
        EXPECT_FALSE(one.ask({act::write, 3, 5, 12, 11})->done);
        EXPECT_EQ(two.ask({act::read, 3, 6})->value, 11U);
        EXPECT_EQ(serving.amid(), ::getpid());
    }
    const auto did = read_log(home / "log").records;
    ASSERT_EQ(did.size(), 5U);
    EXPECT_EQ(did[3].is, phase::fail);
    EXPECT_EQ(did[3].prior(), 11U);
    EXPECT_TRUE(fenced_register(did, {}).sound());
}

// A run in which everything went well, with one fault that bit.
evidence good_run(phase bit = phase::ok) {
    written_history run;
    run.hold(1, 10, 20, 30, 1 << 10);
    run.truth(25, 26, {1 << 10});
    run.healed(50);
    run.hold(2, 60, 70, 80, 2 << 10);
    run.leftover(90, 0);
    evidence seen{.all = run.all(), .troubles = {"server frozen"}, .forgetting = {false}, .bound = 100, .mutexes = 1};
    seen.all.records.push_back({.at = 100, .op = 1, .what = act::fault, .value = 1});
    seen.all.records.push_back({.at = 101, .op = 1, .what = act::heal, .is = bit, .value = 1});
    seen.applied = {{.at = 1, .what = act::seal, .is = phase::ok, .token = 1}};
    return seen;
}

TEST(campaign_verdict, is_sound_if_all_is_well_and_the_faults_bit) {
    campaign_result result;
    judge(good_run(), result);
    EXPECT_EQ(result.is, outcome::sound) << (result.reasons.empty() ? "" : result.reasons.front());
    EXPECT_EQ(result.grants, 2U);
    EXPECT_EQ(result.bites(), 1U);
    EXPECT_EQ(result.judgements.size(), 6U);
}

TEST(campaign_verdict, is_void_if_a_fault_never_bit_or_a_log_was_full) {
    campaign_result toothless;
    judge(good_run(phase::fail), toothless);
    EXPECT_EQ(toothless.is, outcome::is_void);
    campaign_result torn;
    evidence seen = good_run();
    seen.all.full = true;
    judge(std::move(seen), torn);
    EXPECT_EQ(torn.is, outcome::is_void);
    campaign_result blind;
    judge({.all = good_run().all, .bound = 100, .mutexes = 1}, blind);
    EXPECT_EQ(blind.is, outcome::is_void) << "the resource was never used";
}

// Two holds without a token, of a store that gives none; one that gives tokens is convicted of the same.
TEST(campaign_verdict, leaves_out_what_the_store_does_not_promise) {
    written_history run;
    run.hold(1, 10, 20, 30, 0);
    run.healed(50);
    run.hold(2, 60, 70, 80, 0);
    run.leftover(90, 0);
    const evidence seen{.all = run.all(), .bound = 100, .mutexes = 1, .lists = false, .tokens = false};
    campaign_result without;
    judge(seen, without);
    EXPECT_EQ(without.is, outcome::sound) << (without.reasons.empty() ? "" : without.reasons.front());
    EXPECT_EQ(without.judgements.size(), 3U);
    EXPECT_EQ(without.not_judged.size(), 2U);
    evidence promised = seen;
    promised.tokens = true;
    campaign_result with;
    judge(promised, with);
    EXPECT_EQ(with.is, outcome::violated);
}

TEST(campaign_verdict, counts_a_jump_of_the_wall_clock_only_if_a_worker_saw_it) {
    evidence seen = good_run();
    seen.troubles = {std::string(clock_trouble)};
    campaign_result unseen;
    judge(seen, unseen);
    EXPECT_EQ(unseen.is, outcome::is_void);
    seen.all.records.push_back({.at = 102, .what = act::fault, .is = phase::ok, .value = clock_was_seen_to_jump});
    campaign_result found;
    judge(seen, found);
    EXPECT_EQ(found.is, outcome::sound);
}

TEST(campaign_verdict, is_violated_whatever_else_is_wrong_and_forgiven_if_the_store_forgot) {
    written_history run;
    run.hold(1, 10, 20, 60, 1 << 10);
    run.hold(2, 40, 50, 60, 2 << 10);
    evidence seen = good_run();
    for (const record& one : run.all().records) seen.all.records.push_back(one);
    seen.all = sorted(seen.all.records);
    campaign_result result;
    judge(seen, result);
    EXPECT_EQ(result.is, outcome::violated);
    std::ostringstream said;
    print(said, result);
    EXPECT_NE(said.str().find("VIOLATION"), std::string::npos);
    std::ostringstream page;
    result.how = "2026-11-18, --lease 2000 & more";
    print_page(page, result);
    EXPECT_NE(page.str().find("--lease 2000 &amp; more"), std::string::npos);
    EXPECT_NE(page.str().find("stroke-dasharray"), std::string::npos) << "where it happened";
    EXPECT_NE(page.str().find("<svg"), std::string::npos);
    EXPECT_NE(page.str().find("were both valid"), std::string::npos);
    std::ostringstream line;
    print_json(line, result);
    EXPECT_EQ(line.str().find("{\"verdict\":\"violated\""), 0U);
}

TEST(campaign_orders, reach_a_worker_as_they_were_given) {
    const worker_orders given{.url = "redis://a:b@c",
                              .log_file = "l",
                              .resource = "r",
                              .prefix = "p",
                              .number = 3,
                              .seed = 9,
                              .mutexes = 4,
                              .shared = false,
                              .sealing = false,
                              .checks = false};
    const worker_orders read = worker_orders::of(given.words());
    EXPECT_EQ(read.words(), given.words());
    EXPECT_FALSE(read.shared);
    EXPECT_EQ(read.number, 3U);
    EXPECT_THROW(worker_orders::of({"a"}), std::invalid_argument);
}

}  // namespace
