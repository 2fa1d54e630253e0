// From the client's thread to a loop that polls: the answer to a claim, and the loss of the hold.
#pragma once

#include "descriptor.hpp"

#include <mortise/attempt.hpp>

#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

#include <sys/eventfd.h>

namespace command {

class inbox {
public:
    struct news {
        std::optional<mortise::attempt> answer{};
        bool lost = false;
    };

    int get() const noexcept { return bell_.get(); }  // readable when there is news; -1: no descriptor was left

    void answer(mortise::attempt got) {
        const std::scoped_lock guard{mutex_};
        answer_.emplace(std::move(got));
        ring();
    }
    void lose() {
        const std::scoped_lock guard{mutex_};
        lost_ = true;
        ring();
    }
    news take() {
        const std::scoped_lock guard{mutex_};
        std::uint64_t rung = 0;
        static_cast<void>(!::read(bell_.get(), &rung, sizeof rung));
        return {std::exchange(answer_, std::nullopt), std::exchange(lost_, false)};
    }

private:
    void ring() const {
        const std::uint64_t once = 1;
        static_cast<void>(!::write(bell_.get(), &once, sizeof once));
    }

    std::mutex mutex_;
    std::optional<mortise::attempt> answer_;
    bool lost_ = false;
    descriptor bell_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
};

}  // namespace command
