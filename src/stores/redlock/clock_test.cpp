// Redlock on servers whose clocks are set forward while a lock is held: a minority changes nothing; a majority lets another in,
// which Redlock cannot prevent, and with fenced=true the other has a larger token.
#include "checker/faults/movable_clock.hpp"
#include "stores/redlock/servers/nodes.hpp"
#include "support/waiting.hpp"

#include <mortise/client.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::inline v0::stores::redlock {
namespace {

using namespace std::chrono_literals;

constexpr auto lease = 60s;
constexpr auto step = 600s;

// With and without tokens.
class redlock_clock : public ::testing::TestWithParam<const char*> {
protected:
    void SetUp() override {
#if defined(MORTISE_WALL_CLOCK_SHIM)
        std::vector<std::vector<std::string>> run_by;
        for (int i = 0; i < 5; ++i) {
            clocks_.push_back(std::make_unique<testing::movable_clock>(MORTISE_WALL_CLOCK_SHIM));
            run_by.push_back(clocks_.back()->command());
        }
        nodes_.emplace(5, run_by);
#else
        GTEST_SKIP() << "sanitizers want to be loaded first, so there is no shim; run by the plain build";
#endif
    }

    std::string url() {
        return "redlock://" + nodes_->hosts() + GetParam();
    }
    bool fenced() const {
        return std::string_view{GetParam()}.find("fenced") != std::string_view::npos;
    }

    // A majority is enough for the grant. A claim that comes to a node after its clock was set would outlive the others.
    void await_claims() {
        for (std::size_t i = 0; i < nodes_->size(); ++i)
            ASSERT_TRUE(testing::eventually([&] { return !(*nodes_)[i].command({"keys", "*orders*"}).empty(); })) << i;
    }

    void set_forward(std::size_t node) {
        clocks_[node]->set(step);
        const std::chrono::seconds theirs{std::stoll((*nodes_)[node].command({"time"}))};
        const auto ours = std::chrono::system_clock::now().time_since_epoch();
        ASSERT_LT(std::chrono::abs(theirs - ours - step), 60s) << "the clock was not set";
    }

    std::vector<std::unique_ptr<testing::movable_clock>> clocks_;
    std::optional<servers::nodes> nodes_;
};

TEST_P(redlock_clock, set_forward_on_a_minority_lets_nobody_in) {
    client mine{url()};
    client others{url()};
    const hold held = mine.acquire("orders", {.wait = 20s, .lease = lease, .renew = renew::off});
    await_claims();
    for (const std::size_t node : {0u, 1u}) set_forward(node);
    EXPECT_FALSE(others.try_acquire("orders", {.wait = 2s}));
    EXPECT_TRUE(held.valid());
}

TEST_P(redlock_clock, set_forward_on_a_majority_lets_another_in_as_the_promises_say) {
    client mine{url()};
    client others{url()};
    std::string ends;
    for (const std::string& one : mine.promises().ends) ends += one + "\n";
    EXPECT_NE(ends.find("clocks jump forward"), std::string::npos) << ends;

    const hold held = mine.acquire("orders", {.wait = 20s, .lease = lease, .renew = renew::off});
    await_claims();
    for (const std::size_t node : {0u, 1u, 2u}) set_forward(node);
    attempt second = others.try_acquire("orders", {.wait = 20s});
    ASSERT_TRUE(second) << second.refusal().describe();
    if (fenced()) {
        EXPECT_GT(second->token(), held.token());
    }
}

// A token of clocks that are ahead is agreed on by nodes 0, 1 and 2. Of these only the last, whose clock is right, is asked again.
TEST_P(redlock_clock, ahead_on_some_nodes_tokens_rise_also_without_these) {
    if (!fenced()) GTEST_SKIP() << "without tokens";
    client mine{url()};
    mine.acquire("orders", {.wait = 20s}).release();
    for (const std::size_t node : {0u, 1u}) set_forward(node);
    for (const std::size_t away : {3u, 4u}) (*nodes_)[away].freeze();
    const token before = mine.acquire("orders", {.wait = 20s}).token();
    for (const std::size_t away : {3u, 4u}) (*nodes_)[away].thaw();
    for (const std::size_t node : {0u, 1u}) (*nodes_)[node].kill();
    EXPECT_GT(mine.acquire("orders", {.wait = 20s}).token(), before);
}

INSTANTIATE_TEST_SUITE_P(both, redlock_clock, ::testing::Values("?key_prefix=lock:", "?fenced=true"),
                         [](const auto& which) { return which.index == 0 ? "plain" : "fenced"; });

}  // namespace
}  // namespace mortise::inline v0::stores::redlock
