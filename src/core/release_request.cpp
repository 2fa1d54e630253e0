#include "core/release_request.hpp"

#include "base/spare_blocks.hpp"
#include "core/blocking_call.hpp"

#include <algorithm>
#include <utility>

namespace mortise::inline v0::core {
namespace {

// The longest pause, in reply timeouts: whoever waits for the lock of a store that is back waits that much longer.
constexpr unsigned most_pause = 2;

}  // namespace

release_request::release_request(std::shared_ptr<const void> owner, store_link& link, release_log& log,
                                 release_log::ticket ticket, const std::string& name, const claim_id& id,
                                 spi::time_point until)
    : owner_(std::move(owner)),
      link_(link),
      log_(log),
      ticket_(std::move(ticket)),
      name_(name),
      id_(id),
      until_(until) {}

release_request::~release_request() {
    if (logged_) log_.erase(this);
}

std::optional<spi::release_answer> release_request::answer() const noexcept {
    const int is = answer_.load();
    return is == none ? std::nullopt : std::optional{static_cast<spi::release_answer>(is)};
}

// With the mutex held, before any of what it guards is set.
bool release_request::unanswered_though_attached() noexcept {
    attached_.store(true);
    return !answered();
}

void release_request::send(const std::shared_ptr<release_request>& self) {
    release_request& me = *self;
    if (me.link_.shut.load()) return;
    me.link_.store.release(me.name_, me.id_, [mine = self](spi::release_answer answer) {
        if (answer == spi::release_answer::unknown) return failed(mine);
        mine->receive(answer);
    });

    // Not answered on the spot: repeat it after a while.
    if (me.answered()) return;
    std::scoped_lock guard{me.mutex_};
    if (me.unanswered_though_attached() && me.timer_ == 0)
        me.repeat_after(self, me.link_.options.reply_timeout * std::min(++me.tries_, most_pause));
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
void release_request::repeat_after(const std::shared_ptr<release_request>& self, spi::duration pause) {
    const spi::time_point now = link_.clock.now();
    const bool worth_it = now + pause < until_;
    note(worth_it);
    if (worth_it) timer_ = link_.clock.at(now + pause, [mine = self] { try_again(mine); });
}

// It failed on the way: there is no answer to wait for.
void release_request::failed(const std::shared_ptr<release_request>& self) {
    release_request& me = *self;
    spi::clock::timer_id timer = 0;
    {
        std::scoped_lock guard{me.mutex_};
        if (!me.unanswered_though_attached() || me.link_.shut.load()) return;
        timer = std::exchange(me.timer_, 0);
        me.repeat_after(
            self, std::min<spi::duration>(std::chrono::milliseconds{10} * (1 << std::min(me.failures_++, 10u)),
                                          me.link_.options.reply_timeout * std::clamp(me.tries_, 1u, most_pause)));
    }
    if (timer != 0) me.link_.clock.cancel(timer);
}

void release_request::try_again(const std::shared_ptr<release_request>& self) {
    {
        std::scoped_lock guard{self->mutex_};
        self->timer_ = 0;
        if (self->answered()) return;
    }
    self->link_.notifications.emit(event_kind::retried, self->name_, {}, errc::unreachable);
    send(self);
}

void release_request::receive(spi::release_answer answer) {
    int before = none;
    if (!answer_.compare_exchange_strong(before, static_cast<int>(answer))) return;
    if (!attached_.load()) return;
    spi::clock::timer_id timer = 0;
    unique_function<void(spi::release_answer)> then;
    std::shared_ptr<caller> waits;
    {
        std::scoped_lock guard{mutex_};
        note(false);
        then = std::move(then_);
        timer = std::exchange(timer_, 0);
        waits = std::move(waits_);
    }
    if (waits) link_.store.wake(*waits);
    if (timer != 0) link_.clock.cancel(timer);
    if (then) then(answer);
}

void release_request::then(unique_function<void(spi::release_answer)> call) {
    {
        std::scoped_lock guard{mutex_};
        if (unanswered_though_attached()) {
            then_ = std::move(call);
            return;
        }
    }
    call(*answer());
}

void release_request::stop_waiting(const std::shared_ptr<caller>& waiter) noexcept {
    {
        std::scoped_lock guard{mutex_};
        if (waits_ != waiter) return;
        waits_.reset();
    }
    link_.store.wake(*waiter);
}

std::optional<spi::release_answer> release_request::wait(const std::shared_ptr<release_request>& self,
                                                         spi::duration patience) {
    release_request& me = *self;
    if (me.answered()) return me.answer();
    const auto mine = base::make_spared<caller>();  // shared: whoever wakes it may be the last to look
    mine->wait_slot = this_thread_wait_slot();
    {
        std::scoped_lock guard{me.mutex_};
        if (!me.unanswered_though_attached() || patience <= spi::duration::zero()) return me.answer();
        me.waits_ = mine;
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
    const auto timer = me.link_.clock.at(me.link_.clock.now() + patience, alarm{self, mine});
    me.link_.store.sleep(*mine);
    me.link_.clock.cancel(timer);
    return me.answer();
}

}  // namespace mortise::inline v0::core
