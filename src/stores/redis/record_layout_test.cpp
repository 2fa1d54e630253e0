#include "stores/redis/record_layout.hpp"

#include "stores/redis/packed_record.hpp"
#include "stores/redis/scripts.hpp"

#include <gtest/gtest.h>

namespace mortise::stores::redis {
namespace {

static_assert(layouts::head.size() == 61 && layouts::head.offset("next_end") == 22 &&
              layouts::head.offset("kept") == 59);
static_assert(layouts::holder.size() == 36 && layouts::waiter.size() == 52 && layouts::owner.size() == 18);

std::string bytes_in_hex(std::string_view bytes) {
    std::string hex;
    for (const char byte : bytes)
        for (const int shift : {4, 0}) hex += "0123456789abcdef"[static_cast<unsigned char>(byte) >> shift & 15];
    return hex;
}

TEST(redis_record_layout, splices_sizes_and_places) {
    EXPECT_EQ(spliced("sub(head, HEAD_at_kept, HEAD_to_kept + HEAD_size)"), "sub(head, 60, 61 + 61)");
    EXPECT_EQ(spliced("HOLDER_at_ends"), "1");
}

TEST(redis_record_layout, splices_lists_of_fields_with_what_stands_before_them) {
    EXPECT_EQ(spliced("local BLOCKER_fields = 1"), "local counter, held_for = 1");
    EXPECT_EQ(spliced("s.BLOCKER_fields"), "s.counter, s.held_for");
    EXPECT_EQ(spliced("of_it_BLOCKER_fields"), "of_it_counter, of_it_held_for");
}

TEST(redis_record_layout, splices_other_values_for_some_fields) {
    EXPECT_EQ(spliced("pack(GRANT_with{left = max(a, ID_size), now = f(x)})"),
              "pack(counter, lease, max(a, 16), f(x))");
    EXPECT_EQ(spliced("BLOCKER_with{}"), "counter, held_for");
}

TEST(redis_record_layout, splices_formats) {
    EXPECT_EQ(spliced("FORMAT('HEAD')"), "'>c2I4I4I4ddi4i4I4I4I4dBH'");
    EXPECT_EQ(spliced("FORMAT('HEAD.armed,life,ended')"), "'>I4dB'");
    EXPECT_EQ(spliced("FORMAT('HEAD<front HEAD.front c0 LENGTH ID d')"), "'>c30i4c0Hc16d'");
}

TEST(redis_record_layout, splices_constants) {
    EXPECT_EQ(spliced("FORM NOTHING REMEMBERED LOOK", {.look_every = 9}), "'m2' '                ' 7 9");
    EXPECT_EQ(spliced("x = IN_HEAD", {.in_head = 1}), "x = 1");
}

TEST(redis_record_layout, leaves_out_comments_and_leaves_alone_what_is_not_its_own) {
    EXPECT_EQ(spliced("a.b_c = 'h' .. x  -- HEAD_nonsense\nreturn a"), "a.b_c = 'h' .. x  \nreturn a");
}

TEST(redis_record_layout, refuses_what_it_does_not_have) {
    for (const char* const wrong :
         {"HEAD_length", "HEAD_at_nothing", "HEAP_fields", "HEAP_with{}", "HEAD_with{x = 1}", "HEAD_with{used}",
          "HEAD_with{", "FORMAT('HEAP')", "FORMAT('HEAD.x')", "FORMAT('HEAD.life,armed')", "FORMAT('HEAD.armed,ended')",
          "FORMAT('HEAD<x')", "FORMAT('HEAD"})
        EXPECT_THROW(spliced(wrong), std::logic_error) << wrong;
}

TEST(redis_record_layout, is_the_only_place_that_knows_formats) {
    for (const std::string_view file :
         {lua::state, lua::fast_claim, lua::claim, lua::fast_release, lua::release, lua::renew, lua::heartbeat,
          lua::break_hold, lua::show, lua::clock_ahead, lua::rights}) {
        EXPECT_EQ(file.find("'>"), file.npos) << file;
        const std::string text = spliced(file);
        EXPECT_EQ(text.find("FORMAT"), text.npos) << text;
        EXPECT_EQ(text.find("_fields"), text.npos) << text;
    }
}

TEST(redis_record_layout, packs_arguments_byte_for_byte) {
    EXPECT_EQ(bytes_in_hex(packed_record{claim_id{{0x0102030405060708, 0x1112131415161718}}}.bytes()),
              "01020304050607081112131415161718");
    EXPECT_EQ(bytes_in_hex(packed_record::of<layouts::claim>(3, 2, 1000, 1).bytes()),
              "0000000300000002408f40000000000001");
    EXPECT_EQ(bytes_in_hex(packed_record::of<layouts::terms>(6000000, 3000000, true).bytes()),
              "4156e360000000004146e3600000000001");
    EXPECT_EQ(bytes_in_hex(packed_record::of<layouts::lease>(-1).bytes()), "bff0000000000000");
    EXPECT_EQ(packed_record{}.bytes(), "");
}

TEST(redis_record_layout, reads_what_it_packed_and_notices_what_is_missing) {
    const packed_record made = packed_record::of<layouts::blocker>(7, -9);
    packed_reader whole{made.bytes()};
    const auto [counter, held_for] = whole.take<layouts::blocker>();
    EXPECT_EQ(counter, 7);
    EXPECT_EQ(held_for, -9);
    EXPECT_TRUE(whole.rest().empty() && !whole.bad());
    packed_reader cut{made.bytes().substr(0, 15)};
    cut.take<layouts::blocker>();
    EXPECT_TRUE(cut.bad());
    packed_reader huge{std::string_view{"\x7f\xf0\0\0\0\0\0\0", 8}};
    huge.take<layouts::lease>();
    EXPECT_TRUE(huge.bad());
}

}  // namespace
}  // namespace mortise::stores::redis
