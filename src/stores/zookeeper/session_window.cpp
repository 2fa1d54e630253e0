#include "stores/zookeeper/session_window.hpp"

#include <algorithm>

namespace mortise::inline v0::stores::zookeeper {
namespace {

constexpr double drift = 0.01;

}  // namespace

void session_window::begin(spi::time_point asked, spi::duration timeout) {
    timeout_ = timeout;
    proven_ = asked;
    heard_.clear();
}

void session_window::go_on(spi::duration timeout) {
    timeout_ = timeout;
    heard_.clear();
}

void session_window::end() {
    proven_ = spi::time_point::min();
    heard_.clear();
}

void session_window::answered(spi::time_point when) {
    if (proven_ == spi::time_point::min()) return;
    for (; !heard_.empty() && heard_.front() <= when - timeout_ / 4; heard_.pop_front())
        proven_ = std::max(proven_, heard_.front());
    heard_.push_back(when);
}

spi::time_point session_window::until() const {
    if (proven_ == spi::time_point::min()) return proven_;
    return proven_ + std::chrono::duration_cast<spi::duration>(timeout_ * (1.0 - drift));
}

}  // namespace mortise::inline v0::stores::zookeeper
