// For tests of locks that are taken without a thread that waits: two members of a simulated world, and answers to look at.
#pragma once

#include "core/fleet.hpp"

#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include <gtest/gtest.h>

namespace mortise::testing {

// One answer, counted.
template <class Answer>
class pending {
public:
    auto taker() {
        return [mine = mine_](Answer got) {
            ++mine->answers;
            mine->got.emplace(std::move(got));
        };
    }
    int answers() const { return mine_->answers; }
    bool granted() const { return mine_->got && static_cast<bool>(*mine_->got); }
    std::error_code reason() const { return mine_->got ? mine_->got->reason() : std::error_code{}; }
    Answer& operator*() const { return *mine_->got; }
    Answer* operator->() const { return &*mine_->got; }
    void forget() { mine_->got.reset(); }

private:
    struct state {
        int answers = 0;
        std::optional<Answer> got;
    };
    std::shared_ptr<state> mine_ = std::make_shared<state>();
};

class starting : public ::testing::Test {
protected:
    fleet world;
    member mine = world.join();
    member other = world.join();
    std::stop_source stop;
};

}  // namespace mortise::testing
