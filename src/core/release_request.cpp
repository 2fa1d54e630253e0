#include "core/release_request.hpp"

#include "core/blocking_call.hpp"

#include <algorithm>
#include <utility>

namespace mortise::inline v0::core {
namespace {

// The longest pause, in reply timeouts: whoever waits for the lock of a store that is back waits that much longer.
constexpr unsigned most_pause = 2;

}  // namespace

release_request::release_request(std::shared_ptr<store_link> link, release_log& log, release_log::ticket ticket,
                                 std::string name, const claim_id& id, spi::time_point until)
    : link_(std::move(link)), log_(log), ticket_(std::move(ticket)), name_(std::move(name)), id_(id), until_(until) {}

release_request::~release_request() {
    if (logged_) log_.erase(this);
}

void release_request::send() {
    if (link_->shut.load()) return;
    link_->store.release(name_, id_,
                         [self = shared_from_this()](spi::release_answer answer) { self->receive(answer); });

    // Not answered on the spot: repeat it after a while.
    if (answered()) return;
    std::scoped_lock guard{mutex_};
    if (!answer_ && timer_ == 0) repeat_after(link_->options.reply_timeout * std::min(++tries_, most_pause));
}

// In the log while it will be repeated. With the mutex held.
void release_request::note(bool will_repeat) {
    if (std::exchange(logged_, will_repeat) == will_repeat) return;
    if (will_repeat) {
        log_.insert(this, name_, id_);
    } else {
        log_.erase(this);
    }
}

// Unless the store has ended the claim by itself by then. With the mutex held.
void release_request::repeat_after(spi::duration pause) {
    const spi::time_point now = link_->clock.now();
    const bool worth_it = now + pause < until_;
    note(worth_it);
    if (worth_it) timer_ = link_->clock.at(now + pause, [self = shared_from_this()] { self->try_again(); });
}

// It failed on the way: there is no answer to wait for.
void release_request::failed() {
    spi::clock::timer_id timer = 0;
    {
        std::scoped_lock guard{mutex_};
        if (answer_ || link_->shut.load()) return;
        timer = std::exchange(timer_, 0);
        repeat_after(std::min<spi::duration>(std::chrono::milliseconds{10} * (1 << std::min(failures_++, 10u)),
                                             link_->options.reply_timeout * std::clamp(tries_, 1u, most_pause)));
    }
    if (timer != 0) link_->clock.cancel(timer);
}

void release_request::try_again() {
    {
        std::scoped_lock guard{mutex_};
        timer_ = 0;
        if (answer_) return;
    }
    link_->notifications.emit(event_kind::retried, name_, {}, errc::unreachable);
    send();
}

void release_request::receive(spi::release_answer answer) {
    if (answer == spi::release_answer::unknown) return failed();
    spi::clock::timer_id timer = 0;
    unique_function<void(spi::release_answer)> then;
    std::shared_ptr<caller> waits;
    {
        std::scoped_lock guard{mutex_};
        if (answer_) return;
        answer_ = answer;
        note(false);
        then = std::move(then_);
        answered_.store(true, std::memory_order_release);
        timer = std::exchange(timer_, 0);
        waits = std::move(waits_);
    }
    if (waits) link_->store.wake(*waits);
    if (timer != 0) link_->clock.cancel(timer);
    if (then) then(answer);
}

void release_request::then(unique_function<void(spi::release_answer)> call) {
    {
        std::scoped_lock guard{mutex_};
        if (!answer_) {
            then_ = std::move(call);
            return;
        }
    }
    call(*answer_);
}

void release_request::stop_waiting(const std::shared_ptr<caller>& waiter) noexcept {
    {
        std::scoped_lock guard{mutex_};
        if (waits_ != waiter) return;
        waits_.reset();
    }
    link_->store.wake(*waiter);
}

std::optional<spi::release_answer> release_request::wait(spi::duration patience) {
    if (answered()) return answer_;
    const auto mine = std::make_shared<caller>();  // shared: whoever wakes it may be the last to look
    mine->wait_slot = this_thread_wait_slot();
    {
        std::scoped_lock guard{mutex_};
        if (answer_ || patience <= spi::duration::zero()) return answer_;
        waits_ = mine;
    }
    // Wakes the caller when it has waited long enough, and also when the clock is stopped and drops its timers.
    struct alarm {
        std::shared_ptr<release_request> of;
        std::shared_ptr<caller> waiter;
        alarm(std::shared_ptr<release_request> r, std::shared_ptr<caller> w) : of(std::move(r)), waiter(std::move(w)) {}
        alarm(alarm&&) noexcept = default;
        ~alarm() {
            if (of) of->stop_waiting(waiter);
        }
        void operator()() const noexcept {}
    };
    const auto timer = link_->clock.at(link_->clock.now() + patience, alarm{shared_from_this(), mine});
    link_->store.sleep(*mine);
    link_->clock.cancel(timer);
    std::scoped_lock guard{mutex_};
    return answer_;
}

}  // namespace mortise::inline v0::core
