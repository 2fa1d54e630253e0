#include "core/loss_listeners.hpp"

#include <mutex>
#include <utility>

namespace mortise::inline v0::core {
namespace {

// The next holder is another one to watch: this one is to be released.
void watch(claimant& call) {
    call.watched = std::make_unique<claimant::watch>();
    call.cohort->want();
}

}  // namespace

std::stop_token loss_listeners::token_of(claimant& call) {
    std::unique_lock guard{table_.mutex_of(call.cohort->terms.name_hash)};
    const bool first = !call.watched;
    if (first) watch(call);
    const bool is_lost = call.is.load() == claimant::phase::holding && call.cohort->is == cohort::state::ended;
    std::stop_source stop = call.watched->stop;
    guard.unlock();
    if (is_lost && first) stop.request_stop();  // nobody listens yet; later ones are told by the notifier
    return stop.get_token();
}

void loss_listeners::add(const std::shared_ptr<claimant>& call, unique_function<void()> listener) {
    if (!listener) return;
    notifications_.start_thread();
    std::unique_lock guard{table_.mutex_of(call->cohort->terms.name_hash)};
    if (call->is.load() != claimant::phase::holding) return;
    if (call->cohort->is == cohort::state::ended) {
        guard.unlock();
        notifications_.post([listener = std::move(listener)]() mutable { call_guarded(listener); });
        return;
    }
    if (!call->watched) watch(*call);
    call->watched->calls.push_back(std::move(listener));
}

void loss_listeners::tell(const std::shared_ptr<claimant>& call) {
    notifications_.post([this, call] { tell_here(*call); });  // the call keeps its client, which has this
}

// On the notifier. One call at a time: a release in between means that the rest is not begun.
void loss_listeners::tell_here(claimant& call) {
    std::mutex& mutex = table_.mutex_of(call.cohort->terms.name_hash);
    std::stop_source stop{std::nostopstate};
    {
        std::scoped_lock guard{mutex};
        if (!call.watched) return;
        stop = call.watched->stop;
    }
    stop.request_stop();
    while (true) {
        unique_function<void()> listener;
        {
            std::scoped_lock guard{mutex};
            if (!call.watched || call.watched->calls.empty()) return;
            listener = std::move(call.watched->calls.front());
            call.watched->calls.erase(call.watched->calls.begin());
        }
        call_guarded(listener);
    }
}

}  // namespace mortise::inline v0::core
