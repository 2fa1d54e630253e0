#include "core/farewell.hpp"

#include "core/engine.hpp"

#include <algorithm>
#include <utility>

namespace mortise::inline v0::core {

farewell::farewell(std::shared_ptr<engine> home, std::string name, const claim_id& id, spi::time_point until)
    : home_(std::move(home)), name_(std::move(name)), id_(id), until_(until) {
    home_->said_goodbye(+1);
}

farewell::~farewell() {
    home_->said_goodbye(-1);
}

void farewell::send() {
    if (home_->shut()) return;
    home_->store().release(name_, id_, [self = shared_from_this()](spi::release_answer said) { self->answered(said); });

    // Not answered on the spot, or unknown: repeat it after a while, unless the lease does the work for us.
    if (answered_.load(std::memory_order_acquire)) return;
    std::scoped_lock guard{mutex_};
    if (answer_) return;
    const spi::time_point now = home_->clock().now();
    const spi::duration pause = home_->options().reply_timeout * std::min(++tries_, 10u);
    if (now + pause >= until_) return;
    timer_ = home_->clock().at(now + pause, [self = shared_from_this()] { self->try_again(); });
}

void farewell::try_again() {
    {
        std::scoped_lock guard{mutex_};
        timer_ = 0;
        if (answer_) return;
    }
    home_->emit(event_kind::retried, name_, {}, errc::unreachable);
    send();
}

void farewell::answered(spi::release_answer said) {
    if (said == spi::release_answer::unknown) return;
    spi::clock::timer_id timer = 0;
    unique_function<void(spi::release_answer)> then;
    {
        std::scoped_lock guard{mutex_};
        if (answer_) return;
        answer_ = said;
        then = std::move(then_);
        answered_.store(true, std::memory_order_release);
        timer = std::exchange(timer_, 0);
        changed_.notify_all();
    }
    if (timer != 0) home_->clock().cancel(timer);
    if (then) then(said);
}

void farewell::then(unique_function<void(spi::release_answer)> call) {
    {
        std::scoped_lock guard{mutex_};
        if (!answer_) {
            then_ = std::move(call);
            return;
        }
    }
    call(*answer_);
}

std::optional<spi::release_answer> farewell::wait(spi::duration patience) {
    if (answered_.load(std::memory_order_acquire)) return answer_;
    std::unique_lock guard{mutex_};
    if (!answer_ && patience > spi::duration::zero())
        changed_.wait_for(guard, patience, [&] { return answer_.has_value(); });
    return answer_;
}

}  // namespace mortise::inline v0::core
