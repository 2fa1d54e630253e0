#include "lab/draw/layout.hpp"

#include "lab/draw/columns.hpp"
#include "lab/draw/verdict.hpp"
#include "support/lab_sample.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lab {
namespace {

using namespace std::chrono_literals;
using lab::testing::script;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> words_of(const layout& drawn) {
    std::vector<std::string> all;
    for (const row& each : drawn.rows)
        all.push_back(each.what.en + (each.answer.empty() ? "" : " → " + each.answer.en));
    return all;
}

std::vector<std::string> english(const std::vector<text>& all) {
    std::vector<std::string> made;
    for (const text& each : all) made.push_back(each.en);
    return made;
}

TEST(layout, a_hold_is_a_bar_from_the_command_that_took_it_to_the_one_that_frees_it) {
    const layout drawn = layout_of(lab::testing::two_at_once());
    EXPECT_THAT(drawn.lanes, ElementsAre("thread 1", "thread 2"));
    EXPECT_THAT(words_of(drawn),
                ElementsAre("SET lock:ticket 1 EX 10 NX → OK", "10 s pass", "SET lock:ticket 1 EX 10 NX → OK",
                            "5 s pass", "DEL lock:ticket → 1", "DEL lock:ticket → 0"));
    EXPECT_THAT(drawn.bars, ElementsAre(bar{0, 0, 4, 0, 0}, bar{1, 2, 5, 0, 0}));
    EXPECT_THAT(drawn.overlaps, ElementsAre(overlap{2, 4}));
}

TEST(layout, lanes_change_their_look_at_the_mark) {
    const layout drawn = layout_of(lab::testing::two_at_once());
    const row& takes = drawn.rows[2];
    EXPECT_EQ(takes.cells[0].above, line::held);
    EXPECT_EQ(takes.cells[0].below, line::overlapping);
    EXPECT_EQ(takes.cells[1].above, line::idle);
    EXPECT_EQ(takes.cells[1].below, line::overlapping);
    EXPECT_TRUE(takes.bad);
    EXPECT_THAT(english(takes.notes), ElementsAre("two hold it at once"));
    const row& frees = drawn.rows[4];
    EXPECT_EQ(frees.cells[0].above, line::overlapping);
    EXPECT_EQ(frees.cells[0].below, line::none);
    EXPECT_EQ(frees.cells[1].below, line::held);
}

TEST(layout, tokens_are_told_by_their_rank) {
    const layout drawn = layout_of(lab::testing::one_by_one());
    ASSERT_EQ(drawn.bars.size(), 2u);
    EXPECT_EQ(drawn.bars[0].rank, 1u);
    EXPECT_EQ(drawn.bars[1].rank, 2u);
    EXPECT_EQ(drawn.bars[1].token, lab::testing::newer);
    EXPECT_THAT(drawn.overlaps, IsEmpty());
    EXPECT_EQ(drawn.rows[0].answer.zh, "已授予，令牌 1");
    EXPECT_EQ(drawn.rows[0].in_full, "token 1794976569009000");
}

TEST(layout, a_small_token_has_its_rank_where_it_is_called_one) {
    script all;
    all.command("A", {"claim ticket → granted, token 6", "claim ticket → 已授予，令牌 6"}).hold("A", 6);
    all.command("A", "GET ticket → 6");
    const layout drawn = layout_of(all);
    EXPECT_EQ(drawn.rows[0].answer.en, "granted, token 1");
    EXPECT_EQ(drawn.rows[0].answer.zh, "已授予，令牌 1");
    EXPECT_THAT(english(drawn.rows[0].state), ElementsAre("lock ticket: A, token 1"));
    EXPECT_EQ(drawn.rows[1].answer.en, "6");
}

TEST(layout, a_padded_token_has_its_rank_too) {
    script all;
    all.command("A", "claim x → granted").hold("A", lab::testing::older);
    all.command("A", "EVAL … 1 stock 01838056006656000000 → 1");
    all.command("A", "EVAL … 1 stock 0" + std::to_string(lab::testing::older * 1024) + " → 1");
    const layout drawn = layout_of(all);
    EXPECT_EQ(drawn.rows[1].what.en, "EVAL … 1 stock 01838056006656000000");  // nobody's
    EXPECT_EQ(drawn.rows[2].what.en, "EVAL … 1 stock #1");
}

TEST(layout, the_servers_state_is_what_was_seen_and_what_it_answered) {
    const layout naive = layout_of(lab::testing::two_at_once());
    EXPECT_THAT(english(naive.rows[0].state), ElementsAre("lock:ticket = 1, expires in 10 s"));
    EXPECT_THAT(english(naive.rows[1].state), IsEmpty());
    EXPECT_FALSE(naive.rows[2].state_is_new);
    EXPECT_THAT(english(naive.rows[4].state), ElementsAre("no key"));
    const layout empty = layout_of(script().command("A", "SET lock  EX 5 → OK", "lock = , 5 s; page = "));
    EXPECT_THAT(english(empty.rows[0].state), ElementsAre("lock = \"\", expires in 5 s", "page = \"\""));
    const layout mended = layout_of(lab::testing::one_by_one());
    EXPECT_THAT(english(mended.rows[0].state), ElementsAre("lock ticket: thread 1, token 1"));
    EXPECT_THAT(english(mended.rows[1].state), ElementsAre("lock ticket: thread 1, token 1", "in line: thread 2"));
    EXPECT_THAT(english(mended.rows[3].state), ElementsAre("in line: thread 2"));
    EXPECT_THAT(english(mended.rows[5].state), ElementsAre("lock ticket: free"));
}

TEST(layout, points_matter_only_where_something_happens) {
    script all;
    all.enter("A").command("A", "SETNX lock A → 1").add(kind::point, "A", "in between").add(kind::crash, "A");
    all.pass(3600s).enter("B").command("B", "SETNX lock B → 0").add(kind::refused, "B").add(kind::ends, "B");
    const layout drawn = layout_of(all);
    EXPECT_THAT(words_of(drawn),
                ElementsAre("SETNX lock A → 1", "crashes: in between", "1 h pass", "SETNX lock B → 0"));
    EXPECT_THAT(english(drawn.rows[3].notes), ElementsAre("is refused", "but nobody holds it"));
    EXPECT_TRUE(drawn.rows[3].bad);
    EXPECT_EQ(drawn.rows[1].cells[0].below, line::none);
    EXPECT_EQ(drawn.rows[3].cells[0].above, line::none);
    EXPECT_EQ(drawn.rows[3].cells[1].above, line::idle);
}

TEST(layout, a_pause_past_the_lease_ends_the_bar_and_not_the_actor) {
    script all;
    all.command("A", "claim x → granted").hold("A", 7).add(kind::stop, "A").pass(9s).add(kind::lost, "A").pass(2s);
    all.add(kind::resume, "A").command("A", "SET x 1 → OK").add(kind::sold, "A").add(kind::lets_go, "A");
    all.command("A", "release x → had expired").add(kind::ends, "A");
    const layout drawn = layout_of(all);
    EXPECT_THAT(words_of(drawn), ElementsAre("claim x → granted", "is paused", "9 s pass", "its lease expires",
                                             "2 s pass", "goes on", "SET x 1 → OK", "release x → had expired"));
    EXPECT_THAT(drawn.bars, ElementsAre(bar{0, 0, 3, 7, 1}));
    EXPECT_TRUE(drawn.rows[2].cells[0].still_above);
    EXPECT_EQ(drawn.rows[3].cells[0].below, line::expired);
    EXPECT_FALSE(drawn.rows[5].cells[0].still_below);
    EXPECT_EQ(drawn.rows[7].cells[0].below, line::none);
}

TEST(layout, what_is_repeated_has_one_row) {
    script all;
    all.command("A", "claim x → granted").hold("A", 7);
    for (int i = 0; i < 3; ++i) all.pass(3s).command("A", "renew x → renewed");
    for (int i = 0; i < 3; ++i) all.command("B", "claim x → waits in line").add(kind::waits, "B");
    const layout drawn = layout_of(all);
    EXPECT_THAT(words_of(drawn),
                ElementsAre("claim x → granted", "3 s pass", "renew x → renewed", "claim x → waits in line"));
    EXPECT_EQ(drawn.rows[2].times, 3);
    EXPECT_EQ(elapsed(drawn.rows[2].time), "3 s");
    EXPECT_EQ(elapsed(drawn.rows[2].until), "9 s");
    EXPECT_EQ(drawn.rows[3].cells[1].below, line::waiting);
}

TEST(layout, a_belief_without_a_command_has_its_own_row) {
    script all;
    all.hold("A").enter("B").hold("B").hold("C").add(kind::lets_go, "A").add(kind::ends, "B");
    const layout drawn = layout_of(all);
    EXPECT_THAT(words_of(drawn), ElementsAre("holds the lock", "holds the lock", "holds the lock", "lets go",
                                             "ends, and holds it still"));
    EXPECT_THAT(english(drawn.rows[2].notes), ElementsAre("3 hold it at once"));
    EXPECT_THAT(drawn.bars, ElementsAre(bar{0, 0, 3, 0, 0}, bar{1, 1, 4, 0, 0}, bar{2, 2, 5, 0, 0}));
    EXPECT_THAT(drawn.overlaps, ElementsAre(overlap{1, 4}));
}

// Of what the judge sees, every overlap is drawn, and no other.
TEST(layout, agrees_with_the_judge) {
    for (const trace& all : {lab::testing::two_at_once(), lab::testing::one_by_one(), lab::testing::crowd()})
        EXPECT_EQ(!layout_of(all).overlaps.empty(), judged(all).contains(mishap::overlap));
}

TEST(layout, the_stock_tells_what_was_lost) {
    script all;
    all.add(kind::stock, "", {}, 20).command("A", "SET ticket 19 → OK").add(kind::sold, "A");
    all.command("B", "SET ticket 19 → OK").add(kind::sold, "B").add(kind::stock, "", {}, 19);
    const row last = layout_of(all).rows.back();
    EXPECT_EQ(last.what.en, "stock 20 → 19, sold 2");
    EXPECT_TRUE(last.bad);
    EXPECT_EQ(last.lane, nobody);
}

TEST(layout, without_a_clock_the_story_says_how_much_time_passes) {
    script all;
    all.command("A", "SETNX lock A → 1").add(kind::pass, "", {"10 s pass", "10 s 过去了"}).command("A", "DEL lock → 1");
    EXPECT_THAT(words_of(layout_of(all)), ElementsAre("SETNX lock A → 1", "10 s pass", "DEL lock → 1"));
}

TEST(layout, draws_crowds_and_nothing) {
    const layout many = layout_of(lab::testing::crowd());
    EXPECT_EQ(many.lanes.size(), 6u);
    EXPECT_GE(many.rows.size(), 40u);
    for (const row& each : many.rows) {
        EXPECT_EQ(each.cells.size(), 6u);
        EXPECT_EQ(each.answer.en, harmless(each.answer.en));
    }
    EXPECT_THAT(layout_of({}).rows, IsEmpty());
}

TEST(layout, times_are_read_at_a_glance) {
    EXPECT_EQ(elapsed(0s), "0 s");
    EXPECT_EQ(elapsed(10s + 1ms), "10 s");
    EXPECT_EQ(elapsed(9898ms), "9.9 s");
    EXPECT_EQ(elapsed(250ms), "0.25 s");
    EXPECT_EQ(elapsed(3600s + 2ms), "1 h");
    EXPECT_EQ(elapsed(3620s), "1 h 20 s");
}

TEST(verdict, says_whether_the_story_ended_as_told) {
    const story told = lab::testing::sample_story();
    const verdict naive = verdict_of(told, lab::testing::sample_naive());
    EXPECT_EQ(naive.sentence.en, "Broken: two hold it at once");
    EXPECT_TRUE(naive.as_told);
    EXPECT_FALSE(naive.good);
    const verdict mended = verdict_of(told, lab::testing::sample_mended());
    EXPECT_EQ(mended.sentence.en, "Holds: nothing goes wrong");
    EXPECT_TRUE(mended.as_told);
    EXPECT_TRUE(mended.good);
    story fenced = told;
    fenced.mend_ends_in = {mishap::overlap};
    const verdict harmless_one = verdict_of(fenced, lab::testing::played(form::mended, lab::testing::two_at_once()));
    EXPECT_EQ(harmless_one.sentence.en, "No harm: two hold it at once, which no lock can prevent");
    EXPECT_TRUE(harmless_one.good);
    const verdict other = verdict_of(told, {form::naive, lab::testing::one_by_one(), {}});
    EXPECT_FALSE(other.good);
    EXPECT_FALSE(other.as_told);
    EXPECT_EQ(other.sentence.en, "Holds: nothing goes wrong (not as told: two hold it at once)");
}

}  // namespace
}  // namespace lab
