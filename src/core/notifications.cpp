#include "core/notifications.hpp"

#include "base/process.hpp"

namespace mortise::inline v0::core {
namespace {

constexpr std::size_t most_unseen_events = 65536;

}  // namespace

notifications::notifications(std::shared_ptr<spi::clock> clock, std::shared_ptr<spi::notifier> notifier,
                             std::shared_ptr<mortise::observer> observer, std::uint64_t generation)
    : clock_(std::move(clock)),
      notifier_(std::move(notifier)),
      observer_(std::move(observer)),
      generation_(generation) {}

bool notifications::post(spi::task what) noexcept {
    if (generation_ != base::fork_generation()) return false;
    try {
        notifier_->post(std::move(what));
        return true;
    } catch (...) {  // valid() still tells the truth
        return false;
    }
}

void notifications::start_thread() {
    notifier_->post([] {});
}

void notifications::emit(event_kind kind, const std::string& name, token t, std::error_code reason,
                         spi::duration took) noexcept {
    if (!observer_) return;
    if (unseen_events_.fetch_add(1) >= most_unseen_events) {
        unseen_events_.fetch_sub(1);
        dropped_events_.fetch_add(1);
        return;
    }
    event e{kind, name, t, reason, took, clock_->now(), dropped_events_.exchange(0)};
    const bool posted = post([self = shared_from_this(), e = std::move(e)] {
        self->unseen_events_.fetch_sub(1);
        call_guarded([&] { self->observer_->on_event(e); });
    });
    if (!posted) unseen_events_.fetch_sub(1);
}

}  // namespace mortise::inline v0::core
