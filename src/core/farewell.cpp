#include "core/farewell.hpp"

#include "core/engine.hpp"

#include <algorithm>
#include <utility>

namespace mortise::inline v0::core {

using std::chrono::milliseconds;

namespace {

// The longest pause, in reply timeouts: whoever waits for the lock of a store that is back waits that much longer.
constexpr unsigned most_pause = 2;

}  // namespace

farewell::farewell(std::shared_ptr<engine> home, std::string name, const claim_id& id, spi::time_point until)
    : home_(std::move(home)), name_(std::move(name)), id_(id), until_(until) {
    home_->said_goodbye(+1);
}

farewell::~farewell() {
    if (listed_) home_->is_leaving(*this, false);
    home_->said_goodbye(-1);
}

void farewell::send() {
    if (home_->shut()) return;
    home_->store().release(name_, id_, [self = shared_from_this()](spi::release_answer said) { self->answered(said); });

    // Not answered on the spot: repeat it after a while.
    if (answered_.load(std::memory_order_acquire)) return;
    if (!listed_.exchange(true)) home_->is_leaving(*this, true);
    std::scoped_lock guard{mutex_};
    if (!answer_ && timer_ == 0) repeat_after(home_->options().reply_timeout * std::min(++tries_, most_pause));
}

bool farewell::pending() {
    std::scoped_lock guard{mutex_};
    return !answer_ && timer_ != 0;
}

// Unless the store has ended the claim by itself by then. With the mutex held.
void farewell::repeat_after(spi::duration pause) {
    const spi::time_point now = home_->clock().now();
    if (now + pause >= until_) return;
    timer_ = home_->clock().at(now + pause, [self = shared_from_this()] { self->try_again(); });
}

// It failed on the way: there is no answer to wait for.
void farewell::failed() {
    spi::clock::timer_id timer = 0;
    {
        std::scoped_lock guard{mutex_};
        if (answer_ || home_->shut()) return;
        timer = std::exchange(timer_, 0);
        repeat_after(std::min<spi::duration>(milliseconds{10} * (1 << std::min(failures_++, 10u)),
                                             home_->options().reply_timeout * std::clamp(tries_, 1u, most_pause)));
    }
    if (timer != 0) home_->clock().cancel(timer);
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
    if (said == spi::release_answer::unknown) return failed();
    spi::clock::timer_id timer = 0;
    unique_function<void(spi::release_answer)> then;
    std::shared_ptr<caller> waits;
    {
        std::scoped_lock guard{mutex_};
        if (answer_) return;
        answer_ = said;
        then = std::move(then_);
        answered_.store(true, std::memory_order_release);
        timer = std::exchange(timer_, 0);
        waits = std::move(waits_);
    }
    if (waits) home_->store().wake(*waits);
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

void farewell::stop_waiting(const std::shared_ptr<caller>& who) noexcept {
    {
        std::scoped_lock guard{mutex_};
        if (waits_ != who) return;
        waits_.reset();
    }
    home_->store().wake(*who);
}

std::optional<spi::release_answer> farewell::wait(spi::duration patience) {
    if (answered_.load(std::memory_order_acquire)) return answer_;
    const auto mine = std::make_shared<caller>();  // shared: whoever wakes it may be the last to look
    mine->wait_slot = this_thread_wait_slot();
    {
        std::scoped_lock guard{mutex_};
        if (answer_ || patience <= spi::duration::zero()) return answer_;
        waits_ = mine;
    }
    // Wakes the caller when it has waited long enough, and also when the clock is stopped and drops its timers.
    struct alarm {
        std::shared_ptr<farewell> of;
        std::shared_ptr<caller> who;
        alarm(std::shared_ptr<farewell> f, std::shared_ptr<caller> w) : of(std::move(f)), who(std::move(w)) {}
        alarm(alarm&&) noexcept = default;
        ~alarm() {
            if (of) of->stop_waiting(who);
        }
        void operator()() const noexcept {}
    };
    const auto timer = home_->clock().at(home_->clock().now() + patience, alarm{shared_from_this(), mine});
    home_->store().sleep(*mine);
    home_->clock().cancel(timer);
    std::scoped_lock guard{mutex_};
    return answer_;
}

}  // namespace mortise::inline v0::core
