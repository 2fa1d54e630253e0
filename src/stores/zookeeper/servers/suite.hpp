// What tests on one ZooKeeper server have in common.
#pragma once

#include "stores/zookeeper/servers/console.hpp"
#include "stores/zookeeper/servers/ensemble.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::inline v0::stores::zookeeper::servers {

using namespace std::chrono_literals;
using testing::eventually;

// Longer than anything takes that works.
inline constexpr std::chrono::seconds plenty{30};

// One server for all tests of a suite, and a path of its own for each.
class on_one_server : public ::testing::Test {
protected:
    static void SetUpTestSuite() { zk_ = std::make_unique<ensemble>(); }
    static void TearDownTestSuite() { zk_.reset(); }

    static server& node() { return (*zk_)[0]; }

    // A session that does not end because a host stands still for a while, nor what is held with it.
    static constexpr const char* lasting = "30s";

    std::string url(std::uint16_t port, const std::string& session = lasting,
                    const std::string& credentials = {}) const {
        return "zookeeper://" + credentials + "127.0.0.1:" + std::to_string(port) + root_ + "?session=" + session;
    }
    std::string url() const { return url(node().port()); }

    // The nodes of a line, as an operator sees them.
    std::vector<std::string> line(const std::string& name) { return operator_.children(root_ + "/" + name); }
    std::string only_node(const std::string& name) {
        const auto nodes = line(name);
        EXPECT_EQ(nodes.size(), 1u) << name;
        return nodes.empty() ? root_ : root_ + "/" + name + "/" + nodes.front();
    }

    const std::string root_ = std::string("/") + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    console operator_{node().address()};

private:
    static inline std::unique_ptr<ensemble> zk_;
};

}  // namespace mortise::inline v0::stores::zookeeper::servers
