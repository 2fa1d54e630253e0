// Many threads on one connection: each gets the answers to its own questions.
#include "stores/redis/servers/suite.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::stores::redis::servers {
namespace {

class redis_store_test : public on_one_server {};

TEST_F(redis_store_test, nobody_gets_the_answer_to_anothers_question) {
    client locks{url()};
    std::vector<hold> holds;
    std::map<std::string, token> expected;
    for (int i = 0; i < 8; ++i) {
        holds.push_back(locks.acquire("held" + std::to_string(i)));
        expected[holds.back().name()] = holds.back().token();
    }
    std::vector<std::thread> crew;
    for (int i = 0; i < 16; ++i)
        crew.emplace_back([&, i] {
            const std::string mine = "mine" + std::to_string(i);
            for (int n = 0; n < 200 && !HasFailure(); ++n) {
                std::error_code failed;
                std::map<std::string, token> seen;
                for (const held_lock& one : locks.list(failed))
                    if (expected.contains(one.name)) seen[one.name] = one.holder.token;
                EXPECT_FALSE(failed) << failed.message();
                EXPECT_EQ(seen, expected);
                attempt got = locks.try_acquire(mine);
                EXPECT_TRUE(got) << got.refusal().describe();
                if (!got) break;
                EXPECT_EQ(got->release(), release_result::released) << "of a name that nobody else wants";
            }
        });
    for (std::thread& one : crew) one.join();
}

TEST_F(redis_store_test, lists_thousands_part_by_part) {
    client locks{url()};
    std::vector<hold> holds;
    std::vector<std::string> expected;
    for (int i = 0; i < 3000; ++i) holds.push_back(locks.acquire("n" + std::to_string(i)));
    for (const hold& one : holds) expected.push_back(one.name());
    std::ranges::sort(expected);
    std::vector<std::string> names;
    for (const held_lock& one : locks.list()) names.push_back(one.name);
    EXPECT_EQ(names, expected);
    std::size_t largest = 0;
    std::set<std::string> seen;
    locks.list_in_parts([&](const std::vector<held_lock>& some) {
        largest = std::max(largest, some.size());
        for (const held_lock& one : some) seen.insert(one.name);
    });
    EXPECT_LT(largest, 2000u) << "so that others are not kept waiting";
    EXPECT_EQ(seen, std::set<std::string>(expected.begin(), expected.end()));
}

}  // namespace
}  // namespace mortise::stores::redis::servers
