// What random histories of a quorum have in common.
#pragma once

#include "checker/faults/fault_plan.hpp"

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <random>

namespace mortise::testing {

class quorum_dice {
public:
    explicit quorum_dice(std::uint64_t seed) : dice_(seed) {}

    std::uint64_t upto(std::uint64_t most) { return dice_() % (most + 1); }
    std::chrono::milliseconds ms(std::uint64_t most) { return std::chrono::milliseconds{upto(most)}; }

    // Some fault of a network, for one of these verbs; or it is healed.
    void harm(fault_plan& net, std::initializer_list<verb> verbs) {
        const verb v = verbs.begin()[upto(verbs.size() - 1)];
        const int n = static_cast<int>(1 + upto(3));
        switch (upto(10)) {
            case 0:
                return net.lose_requests(v, n);
            case 1:
                return net.lose_replies(v, n);
            case 2:
                return net.fail(v, n);
            case 3:
                return net.fail_after(v, n);
            case 4:
                return net.duplicate(v, n);
            case 5:
            case 6:
                return net.delay(v, ms(1500), ms(500));
            case 7:
                return net.freeze();
            default:
                return net.heal();
        }
    }

private:
    std::mt19937_64 dice_;
};

}  // namespace mortise::testing
