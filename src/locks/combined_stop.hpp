// Several stop_tokens as one.
#pragma once

#include <mortise/config.hpp>

#include <deque>
#include <functional>
#include <stop_token>
#include <utility>

namespace mortise::inline v0::locks {

// Its token is stopped as soon as one of those added to it is.
class combined_stop {
public:
    combined_stop() = default;
    combined_stop(const combined_stop&) = delete;
    combined_stop& operator=(const combined_stop&) = delete;

    void add(std::stop_token other) {
        if (!other.stop_possible()) return;
        links_.emplace_back(std::move(other), [either = either_] {
            std::stop_source kept = either;  // the reply may destroy what was captured
            kept.request_stop();
        });
    }
    std::stop_token token() const { return either_.get_token(); }

private:
    std::stop_source either_;
    std::deque<std::stop_callback<std::function<void()>>> links_;
};

}  // namespace mortise::inline v0::locks
