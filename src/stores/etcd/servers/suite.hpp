// What tests on members of etcd have in common.
#pragma once

#include "stores/etcd/servers/cluster.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace mortise::inline v0::stores::etcd::servers {

using namespace std::chrono_literals;

// So many members for all tests of a suite, and keys of their own for each.
template <std::size_t Members>
class on_members : public ::testing::Test {
protected:
    static void SetUpTestSuite() { cluster_ = std::make_unique<cluster>(Members); }
    static void TearDownTestSuite() { cluster_.reset(); }

    static cluster& all() { return *cluster_; }

    // `more` is further options, "&timeout=500ms". `hosts`: of a proxy.
    std::string url(const std::string& more = {}, const std::string& hosts = all().addresses()) const {
        return "etcd://" + hosts + "?prefix=" + prefix_ + more;
    }
    std::string url_at(std::uint16_t port, const std::string& more = {}) const {
        return url(more, "127.0.0.1:" + std::to_string(port));
    }

    // How many claims there are, as the members see it.
    static std::size_t keys_of(const std::string& prefix) {
        const std::string said = all().member(0).command("get --prefix --keys-only '" + prefix + "/'");
        std::size_t keys = 0;
        for (std::size_t at = 0; (at = said.find(prefix + "/", at)) != std::string::npos; ++at)
            if (said.compare(at + prefix.size(), 7, "/%gone/") != 0) ++keys;
        return keys;
    }

    const std::string prefix_ = ::testing::UnitTest::GetInstance()->current_test_info()->name();

private:
    static inline std::unique_ptr<cluster> cluster_;
};

}  // namespace mortise::inline v0::stores::etcd::servers
