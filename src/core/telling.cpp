// What the user hears: whether a hold is valid, that it was lost, and every event. See engine.hpp for the picture.
#include "core/engine.hpp"

namespace mortise::inline v0::core {
namespace {

constexpr std::size_t most_unseen_events = 65536;

// Nothing that a user's callback throws gets out of it.
template <class Call>
void guarded(Call&& call) noexcept {
    try {
        call();
    } catch (...) {
    }
}

}  // namespace

// On the notifier. One call at a time: a release in between means that the rest is not begun.
void engine::tell_lost(claimant& who) {
    std::mutex& mutex = shard_of(*who.cohort).mutex;
    std::stop_source stop{std::nostopstate};
    {
        std::scoped_lock guard{mutex};
        if (!who.watched) return;
        stop = who.watched->stop;
    }
    stop.request_stop();
    while (true) {
        unique_function<void()> call;
        {
            std::scoped_lock guard{mutex};
            if (!who.watched || who.watched->calls.empty()) return;
            call = std::move(who.watched->calls.front());
            who.watched->calls.erase(who.watched->calls.begin());
        }
        guarded(call);
    }
}

bool engine::valid(const claimant& who) const noexcept {
    return who.is.load(std::memory_order_acquire) == claimant::phase::holding && !forked() &&
           clock_->now() < who.cohort->valid_until.load(std::memory_order_acquire);
}

boot_clock::time_point engine::valid_until(const claimant& who) const noexcept {
    if (who.is.load() != claimant::phase::holding || forked()) return boot_clock::time_point::min();
    const auto until = who.cohort->valid_until.load(std::memory_order_acquire);
    return clock_->now() < until ? until : boot_clock::time_point::min();
}

std::stop_token engine::lost_token(claimant& who) {
    std::unique_lock guard{shard_of(*who.cohort).mutex};
    const bool first = !who.watched;
    if (first) who.watched = std::make_unique<claimant::watch>();
    const bool is_lost = who.is.load() == claimant::phase::holding && who.cohort->is == cohort::state::ended;
    std::stop_source stop = who.watched->stop;
    guard.unlock();
    if (is_lost && first) stop.request_stop();  // nobody listens yet; later ones are told by the notifier
    return stop.get_token();
}

void engine::on_lost(const std::shared_ptr<claimant>& who, unique_function<void()> call) {
    if (!call) return;
    notifier_->post([] {});  // starts the thread here, where a failure can be told
    std::unique_lock guard{shard_of(*who->cohort).mutex};
    if (who->is.load() != claimant::phase::holding) return;
    if (who->cohort->is == cohort::state::ended) {
        guard.unlock();
        notify([call = std::move(call)]() mutable { guarded(call); });
        return;
    }
    if (!who->watched) who->watched = std::make_unique<claimant::watch>();
    who->watched->calls.push_back(std::move(call));
}

bool engine::notify(spi::task what) noexcept {
    try {
        notifier_->post(std::move(what));
        return true;
    } catch (...) {  // valid() still tells the truth
        return false;
    }
}

void engine::emit(event_kind kind, const std::string& name, token t, std::error_code reason,
                  spi::duration took) noexcept {
    if (!options_.observer) return;
    if (unseen_events_.fetch_add(1) >= most_unseen_events) {
        unseen_events_.fetch_sub(1);
        dropped_events_.fetch_add(1);
        return;
    }
    event e{kind, name, t, reason, took, clock_->now(), dropped_events_.exchange(0)};
    const bool posted = notify([self = shared_from_this(), e = std::move(e)] {
        self->unseen_events_.fetch_sub(1);
        guarded([&] { self->options_.observer->on_event(e); });
    });
    if (!posted) unseen_events_.fetch_sub(1);
}

}  // namespace mortise::inline v0::core
