// What only this store has.
#include "stores/etcd/names.hpp"
#include "stores/etcd/requests.hpp"
#include "stores/etcd/rpc_result.hpp"

#include <gtest/gtest.h>

namespace mortise::inline v0::stores::etcd {
namespace {

TEST(etcd_names, of_one_lock_never_begin_those_of_another) {
    const key_layout keys{settings{}};
    EXPECT_EQ(keys.folder_of("a"), "mortise/a/");
    EXPECT_EQ(keys.folder_of("a/b"), "mortise/a%2Fb/");
    EXPECT_EQ(keys.folder_of("a%2Fb"), "mortise/a%252Fb/");
}

TEST(etcd_names, are_read_back_from_keys) {
    const key_layout keys{settings{}};
    const claim_id id = claim_id::random();
    for (const std::string name : {"a", "a/b", "%", "a%2Fb", "/", "\xc3\xa4 b"}) {
        EXPECT_EQ(keys.name_in(keys.key_in(keys.folder_of(name), id)), name);
        EXPECT_EQ(keys.name_in(keys.key_in(keys.folder_of(name), "client", 3)), name);
    }
    EXPECT_FALSE(keys.name_in(keys.gone_key_of(id)));
    EXPECT_FALSE(keys.name_in("other/a/" + id.hex()));
    EXPECT_FALSE(keys.name_in("mortise/a/b/" + id.hex())) << "a/b is kept under another key";
    EXPECT_FALSE(keys.name_in("mortise/%61/" + id.hex())) << "so is a";
}

TEST(etcd_entries, are_read_as_they_were_written) {
    stored_claim one{.own_lease = true, .pid = 4711, .host = "web-3", .label = "a label, with blanks"};
    one.at = {
        .id = claim_id::random(), .capacity = 1u << 31, .weight = 7, .instead_of = claim_id::random(), .place = 42};
    stored_claim read;
    ASSERT_TRUE(read.read_value(one.value()));
    EXPECT_EQ(read.value(), one.value());
    EXPECT_EQ(read.at.id, one.at.id);
    EXPECT_EQ(read.at.weight, 7u);
    EXPECT_EQ(read.at.capacity, 1u << 31);
    EXPECT_EQ(read.at.instead_of, one.at.instead_of);
    EXPECT_EQ(read.label, one.label);
    EXPECT_TRUE(read.own_lease);
}

TEST(etcd_entries, that_are_not_ours_are_none) {
    stored_claim read;
    for (const char* text : {"", "1", "2 1 1 1 1 0 0 0 0 0 0 1\nh\nl", "1 1 1 0 1 0 0 0 0 0 0 1\nh\nl",
                             "1 1 1 1 2 0 0 0 0 0 0 1\nh\nl", "hello"})
        EXPECT_FALSE(read.read_value(text)) << text;
}

TEST(etcd_endings, say_whether_another_member_would_do_it) {
    EXPECT_TRUE(is_for_another_member({.text = "connection refused", .untouched = true}));
    EXPECT_TRUE(is_for_another_member({.text = "etcdserver: rpc not supported for learner"}));
    EXPECT_FALSE(is_for_another_member({.text = "the connection has ended"})) << "it may have been done";
    EXPECT_FALSE(is_for_another_member({.code = ending::deadline_exceeded, .untouched = true}));
    EXPECT_FALSE(is_for_another_member({.text = "a wrong name", .untouched = true, .hopeless = true}));
}

TEST(etcd_status, of_a_learner_says_so) {
    rpc::status_response read;
    ASSERT_TRUE(decode(std::string_view{"\x20\x05\x50\x01"}, read));  // field 4 is the leader, 10 that it learns
    EXPECT_EQ(read.leader, 5u);
    EXPECT_TRUE(read.learner);
}

// Asked is one member, and that may not know yet what has happened since.
TEST(etcd_lines, of_one_member_say_that_a_claim_holds_unless_it_has_seen_later_ones) {
    const stored_claim mine{.at = {.id = claim_id::random(), .arrived = 7}};
    const stored_claim other{.at = {.id = claim_id::random(), .arrived = 8}};
    const line_snapshot both{.revision = 9, .entries = {mine, other}};
    EXPECT_TRUE(both.judge_hold(mine.at.id, 7));
    EXPECT_TRUE(both.judge_hold(mine.at.id, 9));
    EXPECT_FALSE(both.judge_hold(mine.at.id, 12)) << "it was taken out, and entered again behind the other";
    EXPECT_FALSE(both.judge_hold(other.at.id, 8)) << "it waits";
    EXPECT_FALSE(both.judge_hold(claim_id::random(), 7)) << "it is not there";
    const line_snapshot raised{.revision = 9, .entries = {mine}, .floor = 8};
    EXPECT_FALSE(raised.judge_hold(mine.at.id, 7)) << "its token is too small";
    const line_snapshot cut_off{.revision = 9, .entries = {mine}, .missing_before = true};
    EXPECT_FALSE(cut_off.judge_hold(mine.at.id, 7)) << "others may be before it";
}

}  // namespace
}  // namespace mortise::inline v0::stores::etcd
