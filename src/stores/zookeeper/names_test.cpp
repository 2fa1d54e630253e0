// Where locks lie, and what the nodes of a line say.
#include "stores/zookeeper/names.hpp"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::inline v0::stores::zookeeper {
namespace {

const naming own{"/root", naming::protocol::own};
const naming curators{"", naming::protocol::curator};
constexpr claim_id one{{1, 2}};

TEST(zookeeper_names, come_back_and_never_meet) {
    const std::vector<std::string> names{"a",
                                         "a/b",
                                         "a%2Fb",
                                         "a%2fb",
                                         ".",
                                         "..",
                                         "...",
                                         ".a",
                                         "a.",
                                         "%",
                                         "  ",
                                         "zookeeper",
                                         "\xc3\xa9",
                                         "\xee\x80\x80",
                                         "a b",
                                         "a%",
                                         std::string(200, '/')};
    std::set<std::string> paths;
    for (const std::string& name : names) {
        const std::string path = own.line(name);
        EXPECT_TRUE(paths.insert(path).second) << name;
        const std::string part = path.substr(6);
        EXPECT_EQ(part.find('/'), std::string::npos) << part;
        EXPECT_NE(part, ".");
        EXPECT_NE(part, "..");
        for (const char c : part) EXPECT_TRUE(c > ' ' && c < 0x7f) << part;
        EXPECT_EQ(own.name(part), name);
    }
    EXPECT_FALSE(own.name("a%"));
    EXPECT_FALSE(own.name("a%2"));
    EXPECT_FALSE(own.name("a%2g"));
    EXPECT_FALSE(own.name("%61")) << "the node of a is called a";
    EXPECT_FALSE(own.name("..."));
}

TEST(zookeeper_entries, say_all_that_is_needed) {
    const std::string prefix = own.prefix({.id = one, .capacity = 5, .weight = 3});
    EXPECT_EQ(prefix, "00000000000000010000000000000002-5-3-");
    const auto read = own.read(prefix + "0000000007");
    ASSERT_TRUE(read);
    EXPECT_EQ(read->entry.id, one);
    EXPECT_EQ(read->entry.arrived, 7u);
    EXPECT_EQ(read->entry.capacity, 5u);
    EXPECT_EQ(read->entry.weight, 3u);
}

TEST(zookeeper_entries, say_whose_place_they_take_and_where_that_was) {
    const claim_id other{{3, 4}};
    const std::string waits = own.prefix({.id = one, .capacity = 2, .weight = 2, .instead_of = other}) + "0000000009";
    EXPECT_EQ(waits, one.hex() + "-2-2-i" + other.hex() + "-0000000009");
    const std::string took = own.prefix({.id = one, .capacity = 2, .weight = 2, .instead_of = other}, 4) + "0000000010";
    EXPECT_EQ(took, one.hex() + "-2-2-p4-0000000010");
    const auto line = own.read_line(std::vector<std::string>{waits, took, own.prefix({.id = other}) + "0000000004"});
    ASSERT_EQ(line.size(), 3u);
    EXPECT_EQ(line[0].entry.instead_of, other);
    EXPECT_TRUE(line[0].entry.to_be_exchanged());
    EXPECT_FALSE(line[1].entry.to_be_exchanged());
    EXPECT_EQ(line[1].entry.stands_at(), line[2].entry.stands_at());
    EXPECT_EQ(line[1].stands_at, 4u);
    EXPECT_GT(line[1].entry.arrived, line[0].entry.arrived);
}

TEST(zookeeper_entries, that_took_the_first_place_of_all_are_known_for_it) {
    const auto line = own.read_line(std::vector<std::string>{own.prefix({.id = one}, 0) + "0000000005"});
    ASSERT_EQ(line.size(), 1u);
    EXPECT_NE(line[0].entry.place, 0u);
    EXPECT_LT(line[0].entry.stands_at(), line[0].entry.arrived);
}

TEST(zookeeper_entries, of_others_are_left_out) {
    const std::string id = one.hex();
    for (const std::string& odd :
         {std::string{}, std::string{"lock-0000000001"}, id, id + "-1-1-", id + "-1-1-x", id + "-x-1-0000000001",
          id + "-1-0000000001", id.substr(1) + "-1-1-0000000001", "g" + id.substr(1) + "-1-1-0000000001",
          id + "-4294967296-1-0000000001", id + "-1-1-0000000001-", id + "-1-1-p-0000000001", id + "-1-1-ix-0000000001",
          id + "-1-1-q1-0000000001"})
        EXPECT_FALSE(own.read(odd)) << odd;
    EXPECT_TRUE(own.read_line(std::vector<std::string>{"lock-0000000001", "x"}).empty());
}

// In the order of the servers' numbers, which are those of an int that overflows.
std::vector<claim_id> in_order(const std::vector<std::string>& numbers) {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < numbers.size(); ++i) names.push_back(own.prefix({.id = {{0, i}}}) + numbers[i]);
    std::vector<base::line_entry> line = entries_of(own.read_line(names));
    std::sort(line.begin(), line.end(), [](const auto& a, const auto& b) { return a.arrived < b.arrived; });
    std::vector<claim_id> ids;
    for (const auto& each : line) ids.push_back(each.id);
    return ids;
}

TEST(zookeeper_entries, keep_their_order_when_the_number_overflows) {
    const std::vector<claim_id> as_given{{{0, 0}}, {{0, 1}}, {{0, 2}}, {{0, 3}}};
    EXPECT_EQ(in_order({"0000000000", "0000000001", "0000000009", "0000000010"}), as_given);
    EXPECT_EQ(in_order({"2147483646", "2147483647", "-2147483648", "-2147483647"}), as_given);
    EXPECT_EQ(in_order({"-000000002", "-000000001", "0000000000", "0000000001"}), as_given);
}

TEST(zookeeper_entries, are_found_by_their_id) {
    const auto line = own.read_line(std::vector<std::string>{own.prefix({.id = one}) + "0000000000"});
    ASSERT_NE(find(line, one), nullptr);
    EXPECT_NE(find(line, one)->entry.arrived, 0u) << "zero is no number";
    EXPECT_EQ(find(line, {{2, 1}}), nullptr);
}

TEST(zookeeper_names, of_curator_are_paths) {
    EXPECT_EQ(curators.line("orders/17"), "/orders/17");
    EXPECT_TRUE(curators.objection("orders/17", {}).empty());
    for (const char* odd : {"/orders", "orders/", "a//b", ".", "a/../b", "zookeeper", "zookeeper/x"})
        EXPECT_FALSE(curators.objection(odd, {}).empty()) << odd;
    EXPECT_FALSE(curators.objection("pool", {.capacity = 3}).empty());
    EXPECT_FALSE(curators.objection("shared", {.capacity = 1u << 31, .weight = (1u << 30) + 1}).empty());
}

TEST(zookeeper_entries, of_curator_come_back) {
    const base::line_entry mutex{.id = one};
    const base::line_entry reader{.id = one, .capacity = 1u << 31};
    const base::line_entry writer{.id = one, .capacity = 1u << 31, .weight = 1u << 31};
    EXPECT_EQ(curators.prefix(mutex), "_c_00000000-0000-0001-0000-000000000002-lock-");
    EXPECT_EQ(curators.prefix(reader), "_c_00000000-0000-0001-0000-000000000002-__READ__");
    EXPECT_EQ(curators.prefix(writer), "_c_00000000-0000-0001-0000-000000000002-__WRIT__");
    for (const base::line_entry& each : {mutex, reader, writer}) {
        const auto read = curators.read(curators.prefix(each) + "0000000012");
        ASSERT_TRUE(read);
        EXPECT_EQ(read->entry.id, one);
        EXPECT_EQ(read->entry.capacity, each.capacity);
        EXPECT_EQ(read->entry.weight, each.weight);
        EXPECT_EQ(read->entry.arrived, 12u);
    }
}

TEST(zookeeper_entries, of_others_in_curators_line_count_too) {
    for (const char* name : {"lock-0000000003", "0123456789abcdef__lock__0000000003"}) {
        const auto read = curators.read(name);
        ASSERT_TRUE(read) << name;
        EXPECT_EQ(read->entry.capacity, 1u);
        EXPECT_EQ(read->entry.arrived, 3u);
        EXPECT_NE(read->entry.id, claim_id{});
    }
    for (const char* name : {"", "leases", "x0000000003", "lock-00000000x3"}) EXPECT_FALSE(curators.read(name)) << name;
}

}  // namespace
}  // namespace mortise::inline v0::stores::zookeeper
