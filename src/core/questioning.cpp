// Calls that wait for the store without a thread: who answers them, and when nobody does. See engine.hpp for the picture.
#include "core/engine.hpp"
#include "core/question.hpp"

#include <mortise/error.hpp>

#include <utility>

namespace mortise::inline v0::core {

// After `patience`, or when the client ends, nobody waits any longer.
void engine::wait_for(const std::shared_ptr<open_question>& asked, spi::duration patience) {
    if (asked->answered()) return;
    std::error_code cannot;
    try {
        std::scoped_lock guard{questions_mutex_};
        if (shut()) {
            cannot = errc::closed;
        } else {
            const auto timer = clock_->at(clock_->now() + patience, [weak = weak_from_this(), asked] {
                asked->give_up(errc::unreachable);
                if (const auto self = weak.lock()) self->forget(asked);
            });
            questions_.emplace(asked, timer);
        }
    } catch (const error& e) {  // no thread to be had
        cannot = e.code();
    }
    if (cannot) return asked->give_up(cannot);
    if (asked->answered()) forget(asked);
}

void engine::forget(const std::shared_ptr<open_question>& asked) noexcept {
    spi::clock::timer_id timer = 0;
    {
        std::scoped_lock guard{questions_mutex_};
        const auto found = questions_.find(asked);
        if (found == questions_.end()) return;
        timer = found->second;
        questions_.erase(found);
    }
    clock_->cancel(timer);
}

// The store is closed: no answer comes any more.
void engine::give_up_questions() noexcept {
    decltype(questions_) open;
    {
        std::scoped_lock guard{questions_mutex_};
        open.swap(questions_);
    }
    for (const auto& [asked, timer] : open) {
        clock_->cancel(timer);
        asked->give_up(errc::closed);
    }
}

void engine::start_list(unique_function<void(std::vector<held_lock>, std::error_code)> done) {
    if (forked() || closed_.load()) return done({}, forked() ? errc::forked : errc::closed);
    if (!cannot_list().empty()) return done({}, errc::unsupported);
    const auto asked = std::make_shared<question<std::vector<held_lock>>>(std::vector<held_lock>{}, std::move(done));
    store_->list([weak = weak_from_this(), asked](spi::listing all) {
        asked->answer(std::move(all.holds), all.failed);
        if (const auto self = weak.lock()) self->forget(asked);
    });
    wait_for(asked, options_.patience);
}

}  // namespace mortise::inline v0::core
