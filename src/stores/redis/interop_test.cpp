// Locks of other clients and ours on one key, with protocol=setnx.
#include "stores/redis/servers/single.hpp"
#include "support/children.hpp"

#include <mortise/client.hpp>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::inline v0::stores::redis {
namespace {

using namespace std::chrono_literals;

class redis_interop : public ::testing::Test {
protected:
    // Two of us and two of them. A directory that only one can make at a time is the judge of both sides.
    void contend(const std::string& key_prefix, const std::string& worker, const std::string& name) {
        const testing::scratch_directory room;
        const std::string inside = room / "inside";
        const auto times = static_cast<int>(testing::scale(2500));
        const std::string url = "redis://" + on_.node().address() + "?protocol=setnx&key_prefix=" + key_prefix;
        std::atomic<int> ours{0};
        std::atomic<int> overlaps{0};
        std::vector<std::jthread> all;
        for (int t = 0; t < 2; ++t)
            all.emplace_back([&] {
                client locks{url, {.hand_over_turns = 0}};
                for (int n = 0; n < times; ++n) {
                    const hold mine = locks.acquire("both", {.wait = 120s});
                    if (!std::filesystem::create_directory(inside)) ++overlaps;
                    std::filesystem::remove(inside);
                    ++ours;
                }
            });
        for (int t = 0; t < 2; ++t)
            all.emplace_back([&, t] {
                const std::string said = room / ("said" + std::to_string(t));
                const std::string run = worker + " " + std::to_string(on_.node().port()) + " " + name + " " +
                                        std::to_string(times) + " " + inside + " >" + said + " 2>&1";
                EXPECT_EQ(std::system(run.c_str()), 0);
                std::ifstream in{said};
                EXPECT_EQ((std::string{std::istreambuf_iterator<char>{in}, {}}), "overlaps=0\n");
            });
        all.clear();
        EXPECT_EQ(ours, 2 * times);
        EXPECT_EQ(overlaps, 0);
    }

    const std::string workers_ = MORTISE_SOURCE_DIR "/src/stores/redis/interop/";

private:
    servers::single on_;
};

TEST_F(redis_interop, a_lock_of_redis_py_and_ours_exclude_each_other) {
    contend("lock:", "/usr/bin/python3 " + workers_ + "redis_py_worker.py", "lock:both");
}

// Only make interop installs node's packages, and says where.
class redis_interop_with_node : public redis_interop {
protected:
    void SetUp() override {
        if (std::getenv("MORTISE_INTEROP") == nullptr) GTEST_SKIP() << "make interop runs it";
    }
    std::string worker(const std::string& library) const { return "node " + workers_ + "node_worker.js " + library; }
};

TEST_F(redis_interop_with_node, a_lock_of_redlock_and_ours_exclude_each_other) {
    contend("lock:", worker("redlock"), "lock:both");
}

TEST_F(redis_interop_with_node, a_mutex_of_redis_semaphore_and_ours_exclude_each_other) {
    contend("mutex:", worker("redis-semaphore"), "both");
}

}  // namespace
}  // namespace mortise::inline v0::stores::redis
