#include "core/pending_reply.hpp"

#include <mortise/error.hpp>

namespace mortise::inline v0::core {

void pending_replies::wait_for(const std::shared_ptr<unanswered>& reply, spi::duration patience) {
    if (reply->answered()) return;
    std::error_code cannot;
    try {
        std::scoped_lock guard{mutex_};
        if (closed_) {
            cannot = errc::closed;
        } else {
            const auto timer = clock_->at(clock_->now() + patience, [weak = weak_from_this(), reply] {
                reply->give_up(errc::unreachable);
                if (const auto self = weak.lock()) self->forget(reply);
            });
            open_.emplace(reply, timer);
        }
    } catch (const error& e) {  // no thread to be had
        cannot = e.code();
    }
    if (cannot) return reply->give_up(cannot);
    if (reply->answered()) forget(reply);
}

void pending_replies::forget(const std::shared_ptr<unanswered>& reply) noexcept {
    spi::clock::timer_id timer = 0;
    {
        std::scoped_lock guard{mutex_};
        const auto found = open_.find(reply);
        if (found == open_.end()) return;
        timer = found->second;
        open_.erase(found);
    }
    clock_->cancel(timer);
}

void pending_replies::give_up_all() noexcept {
    decltype(open_) open;
    {
        std::scoped_lock guard{mutex_};
        closed_ = true;
        open.swap(open_);
    }
    for (const auto& [reply, timer] : open) {
        clock_->cancel(timer);
        reply->give_up(errc::closed);
    }
}

}  // namespace mortise::inline v0::core
