// Replies to a renewal that a store sends in several parts, to several servers or on several leases.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <cstddef>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

namespace mortise::inline v0::base {

// Gathers a reply for each claim, in the order of the request, and completes once: when all have come, or early. What has not
// come by then is unknown. Any thread may call; the completion runs with no lock held.
class renewal_replies {
public:
    using answer = spi::renewal_answer;

    renewal_replies(std::size_t claims, spi::reply<std::vector<answer>> done)
        : answers_(claims, answer::unknown), missing_(claims), done_(std::move(done)) {}

    // Of the claims at these places of the request, one each. No place may be set twice.
    void set(std::span<const std::size_t> places, std::span<const answer> answers) {
        std::unique_lock held{mutex_};
        if (missing_ == 0) return;
        for (std::size_t i = 0; i < places.size(); ++i) answers_[places[i]] = answers[i];
        missing_ -= places.size();
        if (missing_ == 0) complete(held);
    }
    // The same for all of them.
    void set(std::span<const std::size_t> places, answer all) { set(places, std::vector<answer>(places.size(), all)); }

    // Completes with what has come. A server that does not reply must not hold back the others' replies.
    void complete_early() {
        std::unique_lock held{mutex_};
        if (missing_ != 0) complete(held);
    }

    bool complete() {
        std::scoped_lock guard{mutex_};
        return missing_ == 0;
    }

private:
    void complete(std::unique_lock<std::mutex>& held) {
        missing_ = 0;
        auto done = std::move(done_);
        auto answers = std::move(answers_);
        held.unlock();
        done(std::move(answers));
    }

    std::mutex mutex_;
    std::vector<answer> answers_;
    std::size_t missing_;
    spi::reply<std::vector<answer>> done_;
};

}  // namespace mortise::inline v0::base
