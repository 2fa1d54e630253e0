// What tests on one PostgreSQL server have in common.
#pragma once

#include "stores/postgres/servers/server.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include <gtest/gtest.h>

namespace mortise::inline v0::stores::postgres::servers {

using namespace std::chrono_literals;
using testing::eventually;

// Longer than anything takes that works.
inline constexpr std::chrono::seconds plenty{30};

// One server for all tests of a suite, and a schema of its own for each.
class on_one_server : public ::testing::Test {
protected:
    static void SetUpTestSuite() { server_ = std::make_unique<server>(); }
    static void TearDownTestSuite() { server_.reset(); }

    static server& node() { return *server_; }

    // `more`: further options, "&session=5s".
    std::string url(const std::string& more = {}) const { return url_at(node().port(), more); }
    std::string url_at(std::uint16_t port, const std::string& more = {}) const {
        return node().url("strategy=" + strategy_ + "&schema=" + schema_ + more, port);
    }

    const std::string schema_ =
        std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()).substr(0, 60);
    std::string strategy_ = "advisory";

private:
    static inline std::unique_ptr<server> server_;
};

}  // namespace mortise::inline v0::stores::postgres::servers
