// What ends a wait: any of several stop_tokens.
#pragma once

#include "core/engine.hpp"

#include <mortise/claim.hpp>
#include <mortise/config.hpp>
#include <mortise/unique_function.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <stop_token>
#include <utility>

namespace mortise::inline v0::locks {

class wait_end {
public:
    wait_end() = default;
    wait_end(const wait_end&) = delete;
    wait_end& operator=(const wait_end&) = delete;

    void end_with(std::stop_token other) {
        if (!other.stop_possible()) return;
        links_.emplace_back(std::move(other), [either = either_] {
            std::stop_source kept = either;  // the answer may destroy what was captured
            kept.request_stop();
        });
    }
    std::stop_token token() const { return either_.get_token(); }

private:
    std::stop_source either_;
    std::deque<std::stop_callback<std::function<void()>>> links_;
};

// A claim on the terms of a lock, for one call: its wait, and its stop beside the lock's own.
class one_call {
public:
    one_call(const claim& terms, const wait_options& how) : wanted_(terms) {
        wanted_.options.wait = how.wait;
        if (!wanted_.options.stop.stop_possible()) {
            wanted_.options.stop = how.stop;
        } else if (how.stop.stop_possible()) {
            end_ = std::make_shared<wait_end>();
            end_->end_with(wanted_.options.stop.take());
            end_->end_with(how.stop);
            wanted_.options.stop = end_->token();
        }
    }

    claim& wanted() noexcept { return wanted_; }

    attempt acquire(core::engine& from, const std::shared_ptr<core::claimant>& instead_of = nullptr) && {
        return from.acquire(std::move(wanted_), {}, instead_of);
    }
    void start(core::engine& from, unique_function<void(attempt)> done,
               const std::shared_ptr<core::claimant>& instead_of = nullptr) && {
        if (end_)
            done = [end = std::move(end_), done = std::move(done)](attempt got) mutable {
                end.reset();
                done(std::move(got));
            };
        from.start(std::move(wanted_), std::move(done), 0, instead_of);
    }

private:
    claim wanted_;
    std::shared_ptr<wait_end> end_;
};

}  // namespace mortise::inline v0::locks
