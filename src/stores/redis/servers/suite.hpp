// What tests on one Redis server have in common.
#pragma once

#include "stores/redis/servers/single.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::inline v0::stores::redis::servers {

using namespace std::chrono_literals;

// One server for all tests of a suite, and keys of their own for each.
class on_one_server : public ::testing::Test {
protected:
    static void SetUpTestSuite() { redis_ = std::make_unique<single>(); }
    static void TearDownTestSuite() { redis_.reset(); }

    static server& node() { return redis_->node(); }

    // `more` is further options, "&timeout=500ms". `port`: of a proxy.
    std::string url(std::uint16_t port, const std::string& more = {}) const {
        return "redis://127.0.0.1:" + std::to_string(port) + "?prefix=" + prefix_ + more;
    }
    std::string url() const { return url(node().port()); }

    // As the server sees it. Who holds, and how many wait; nothing if nobody does.
    std::vector<held_lock> held(std::string_view name) {
        std::vector<held_lock> all = onlooker_.list();
        std::erase_if(all, [&](const held_lock& one) { return one.name != name; });
        return all;
    }
    [[nodiscard]] bool await_waiting(std::string_view name, std::size_t how_many) {
        return testing::eventually([&] {
            const auto now = held(name);
            return !now.empty() && now.front().waiting == how_many;
        });
    }
    std::uint64_t calls_of(const std::string& command) {
        const std::string said = node().field({"info", "commandstats"}, "cmdstat_" + command);
        return said.empty() ? 0 : std::stoull(said.substr(said.find('=') + 1));
    }

    const std::string prefix_ = ::testing::UnitTest::GetInstance()->current_test_info()->name();

private:
    static inline std::unique_ptr<single> redis_;
    client onlooker_{url()};
};

}  // namespace mortise::inline v0::stores::redis::servers
