#include "stores/redis/lookup_pacer.hpp"

#include "checker/sim/sim_clock.hpp"

#include <gtest/gtest.h>

namespace mortise::stores::redis {
namespace {

using namespace std::chrono_literals;

struct looking_owner : std::enable_shared_from_this<looking_owner> {
    explicit looking_owner(spi::clock& clock, int& looks) : pacer(clock, 300ms), looked(looks) {}
    bool look() {
        ++looked;
        return wants_more-- > 0;
    }
    void look_soon() { pacer.look_soon(weak_from_this(), &looking_owner::look); }

    lookup_pacer pacer;
    int& looked;
    int wants_more = 0;
};

class redis_lookup_pacer : public ::testing::Test {
protected:
    mortise::testing::sim_clock clock_;
    int looked_ = 0;
    std::shared_ptr<looking_owner> owner_ = std::make_shared<looking_owner>(clock_, looked_);
};

TEST_F(redis_lookup_pacer, looks_once_a_period_later_however_often_it_is_asked_to) {
    for (int i = 0; i < 5; ++i) owner_->look_soon();
    clock_.advance(299ms);
    EXPECT_EQ(looked_, 0);
    clock_.advance(1ms);
    EXPECT_EQ(looked_, 1);
    clock_.advance(10s);
    EXPECT_EQ(looked_, 1);
    owner_->look_soon();
    clock_.advance(300ms);
    EXPECT_EQ(looked_, 2);
}

TEST_F(redis_lookup_pacer, looks_again_while_it_is_told_to) {
    owner_->wants_more = 2;
    owner_->look_soon();
    clock_.advance(10s);
    EXPECT_EQ(looked_, 3);
    EXPECT_EQ(clock_.pending(), 0u);
}

TEST_F(redis_lookup_pacer, does_not_look_once_it_is_stopped_or_its_owner_is_gone) {
    owner_->look_soon();
    owner_->pacer.stop();
    clock_.advance(1s);
    owner_->look_soon();
    EXPECT_EQ(clock_.pending(), 0u);
    auto other = std::make_shared<looking_owner>(clock_, looked_);
    other->look_soon();
    other.reset();
    clock_.advance(1s);
    EXPECT_EQ(looked_, 0);
}

}  // namespace
}  // namespace mortise::stores::redis
