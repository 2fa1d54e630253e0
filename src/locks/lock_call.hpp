// One call of a lock's verb.
#pragma once

#include "core/engine.hpp"
#include "locks/combined_stop.hpp"

#include <mortise/attempt.hpp>
#include <mortise/claim.hpp>
#include <mortise/config.hpp>
#include <mortise/unique_function.hpp>

#include <memory>
#include <utility>

namespace mortise::inline v0::locks {

// A claim on the terms of a lock, with the wait of this call, and its stop beside the lock's own.
class lock_call {
public:
    lock_call(const claim& terms, const wait_options& how) : wanted_(terms) {
        wanted_.options.wait = how.wait;
        if (!wanted_.options.stop.stop_possible()) {
            wanted_.options.stop = how.stop;
        } else if (how.stop.stop_possible()) {
            stop_ = std::make_shared<combined_stop>();
            stop_->add(wanted_.options.stop.take());
            stop_->add(how.stop);
            wanted_.options.stop = stop_->token();
        }
    }

    claim& wanted() noexcept { return wanted_; }

    attempt acquire(core::engine& from, const std::shared_ptr<core::claimant>& instead_of = nullptr) && {
        return from.acquire(std::move(wanted_), instead_of);
    }
    void start(core::engine& from, unique_function<void(attempt)> done,
               const std::shared_ptr<core::claimant>& instead_of = nullptr) && {
        if (stop_)
            done = [stop = std::move(stop_), done = std::move(done)](attempt got) mutable {
                stop.reset();
                done(std::move(got));
            };
        from.start(std::move(wanted_), std::move(done), instead_of);
    }

private:
    claim wanted_;
    std::shared_ptr<combined_stop> stop_;
};

}  // namespace mortise::inline v0::locks
