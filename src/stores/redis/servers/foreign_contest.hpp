// Two of our clients and two programs that use another library want one lock. A directory that only one can make at a time is the
// judge of both sides.
#pragma once

#include "support/children.hpp"

#include <mortise/client.hpp>
#include <mortise/config.hpp>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::inline v0::stores::redis::servers {

struct foreign_contest {
    std::string url;     // ours
    std::string worker;  // the command; it gets where, name, times and the directory
    std::string where;   // port, or ports with commas
    std::string name;    // of the lock "both", as they call it
    int times = 0;       // each

    void run() const {
        const testing::scratch_directory room;
        const std::string inside = room / "inside";
        std::atomic<int> ours{0};
        std::atomic<int> overlaps{0};
        std::vector<std::jthread> all;
        for (int t = 0; t < 2; ++t)
            all.emplace_back([&] {
                client locks{url, {.hand_over_turns = 0}};
                for (int n = 0; n < times; ++n) {
                    const attempt mine = locks.try_acquire("both", {.wait = std::chrono::minutes{2}});
                    if (!mine) {
                        ADD_FAILURE() << n << ": " << mine.refusal().describe();
                        return;
                    }
                    if (!std::filesystem::create_directory(inside)) ++overlaps;
                    std::filesystem::remove(inside);
                    ++ours;
                }
            });
        for (int t = 0; t < 2; ++t)
            all.emplace_back([&, t] {
                const std::string said = room / ("said" + std::to_string(t));
                const std::string run = worker + " " + where + " " + name + " " + std::to_string(times) + " " + inside +
                                        " >" + said + " 2>&1";
                EXPECT_EQ(std::system(run.c_str()), 0);
                std::ifstream in{said};
                EXPECT_EQ((std::string{std::istreambuf_iterator<char>{in}, {}}), "overlaps=0\n");
            });
        all.clear();
        EXPECT_EQ(ours, 2 * times);
        EXPECT_EQ(overlaps, 0);
    }

    // Only make interop installs node's packages, and says where.
    static bool with_node() { return std::getenv("MORTISE_INTEROP") != nullptr; }
    static std::string program(const std::string& file) {
        return std::string(MORTISE_SOURCE_DIR) + "/src/stores/redis/interop/" + file;
    }
};

}  // namespace mortise::inline v0::stores::redis::servers
