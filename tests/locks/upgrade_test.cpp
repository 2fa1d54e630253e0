// Upgrades whose wait ends at the very moment of their grant.
#include "support/waiting.hpp"

#include <mortise/error.hpp>
#include <mortise/shared_mutex.hpp>
#include <mortise/spi/client.hpp>
#include <mortise/spi/store_wrapper.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include <gtest/gtest.h>

namespace mortise::testing {
namespace {

using namespace std::chrono_literals;

// Its pushed grants are still on their way when the wait is over.
struct slow_post {
    std::atomic<bool> waits{false};  // a claim in place of a hold stands in line
};
class slow_store final : public spi::store_wrapper {
public:
    slow_store(const spi::context& outer, const spi::store_factory& inner, std::shared_ptr<slow_post> post)
        : store_wrapper(outer, inner), post_(std::move(post)) {}

    void claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) override {
        const bool exchange = wanted.instead_of != claim_id{};
        store_wrapper::claim(wanted, [post = post_, exchange, done = std::move(done)](auto said) mutable {
            const bool queued = said.is == spi::claim_answer::verdict::queued;
            done(std::move(said));
            if (exchange && queued) post->waits = true;
        });
    }
    void granted(std::string_view, const claim_id&, const spi::grant&) override {}

private:
    const std::shared_ptr<slow_post> post_;
};

class late_upgrade : public ::testing::Test {
protected:
    late_upgrade() {
        mine_.lock_upgradeable();
        reader_ = std::jthread{[this] {
            theirs_.lock_shared();
            reading_ = true;
            static_cast<void>(eventually([this] { return post_->waits.load(); }));
            theirs_.unlock_shared();  // now the store grants the upgrade, and nobody hears of it
            left_ = true;
        }};
        EXPECT_TRUE(eventually([this] { return reading_.load(); }));
    }
    bool free_for_writing() {
        bool is_free = false;
        std::thread{[&] { is_free = theirs_.try_lock() && (theirs_.unlock(), true); }}.join();
        return is_free;
    }

    const std::string url_ =
        "memory:late upgrade " + std::to_string(std::chrono::steady_clock::now().time_since_epoch().count());
    const std::shared_ptr<slow_post> post_ = std::make_shared<slow_post>();
    client locks_ = spi::make_client([this](const spi::context& outer) {
        return std::make_unique<slow_store>(outer, spi::factory_of(url_), post_);
    });
    client others_{url_};
    std::stop_source stop_;
    shared_mutex mine_{locks_, "n", {.stop = stop_.get_token()}};
    shared_mutex theirs_{others_, "n"};
    std::atomic<bool> reading_{false};
    std::atomic<bool> left_{false};
    std::jthread reader_;
};

TEST_F(late_upgrade, that_times_out_when_it_was_granted_is_granted) {
    EXPECT_TRUE(mine_.try_upgrade_for(300ms));
    EXPECT_TRUE(left_);
    EXPECT_TRUE(mine_.hold().valid());
    EXPECT_FALSE(free_for_writing()) << "one of the two is held";
    mine_.unlock();
    EXPECT_TRUE(free_for_writing());
}

TEST_F(late_upgrade, that_is_cancelled_when_it_was_granted_is_granted) {
    std::jthread canceller{[this] {
        static_cast<void>(eventually([this] { return left_.load(); }));
        stop_.request_stop();
    }};
    std::error_code ec;
    mine_.upgrade(ec);
    EXPECT_EQ(ec, std::error_code{});
    EXPECT_TRUE(mine_.hold().valid());
    EXPECT_FALSE(free_for_writing());
    mine_.unlock();
    EXPECT_TRUE(free_for_writing());
}

}  // namespace
}  // namespace mortise::testing
