#include "wait_display.hpp"

#include "holders.hpp"
#include "report.hpp"
#include "terminal.hpp"
#include "text.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include <unistd.h>

namespace command {

using namespace std::chrono_literals;

auto queue_position::look(const std::vector<mortise::held_lock>& all, const std::string& name) -> view {
    view seen;
    for (const mortise::held_lock& one : all) {
        if (one.name != name) continue;
        seen.waiting = one.waiting;
        if (!seen.holder || one.holder.held_for > seen.holder->held_for) seen.holder = one.holder;
    }
    const std::size_t last = std::max<std::size_t>(seen.waiting, 1);
    const bool changed = seen.holder && last_ && seen.holder->token != *last_;
    place_ = place_ == 0 ? last : std::clamp<std::size_t>(changed ? place_ - 1 : place_, 1, last);
    if (seen.holder) last_ = seen.holder->token;
    seen.place = place_;
    return seen;
}

std::string line_of(const std::string& name, const queue_position::view& seen) {
    std::string text = "waiting for " + in_quotes(name);
    if (seen.holder) text += ", held by " + holder_text(*seen.holder) + held_for_text(*seen.holder, " ");
    return text + "; place " + std::to_string(seen.place) + " of " + std::to_string(std::max(seen.place, seen.waiting));
}

static json details_of(const std::string& name, const queue_position::view& seen) {
    json made;
    made.add("name", name).add("place", static_cast<std::int64_t>(seen.place));
    if (seen.holder) made.add("holder", as_json(*seen.holder));
    return made;
}

struct wait_display::state {
    std::mutex mutex;
    std::condition_variable changed;
    bool ended = false;
    live_line line;
    std::shared_ptr<mortise::client> locks;
    std::string name;
    bool live = false;
    bool as_json = false;
    pid_t job = 0;

    // False: it is over.
    bool rest(std::chrono::milliseconds span) {
        std::unique_lock guard{mutex};
        return !changed.wait_for(guard, span, [this] { return ended; });
    }

    void watch() {
        queue_position queue;
        std::string said;
        while (rest(said.empty() ? 250ms : 1000ms)) {
            std::error_code ec;
            const auto all = locks->list(ec);
            if (ec) continue;
            const queue_position::view seen = queue.look(all, name);
            if (live) {
                said = "mortise: " + line_of(name, seen);
                if (::tcgetpgrp(STDERR_FILENO) == job) line.draw(said);
                continue;
            }
            const std::string news = (seen.holder ? holder_text(*seen.holder) : "") + std::to_string(seen.place);
            const std::scoped_lock guard{mutex};
            if (!ended && news != said) inform(as_json, "waiting", details_of(name, seen), line_of(name, seen));
            said = news;
        }
    }
};

wait_display::wait_display(std::shared_ptr<mortise::client> locks, std::string name, bool live, pid_t job, bool as_json)
    : state_(std::make_shared<state>()) {
    state_->locks = std::move(locks);
    state_->name = std::move(name);
    state_->live = live;
    state_->as_json = as_json;
    state_->job = job;
    std::thread{[kept = state_] { kept->watch(); }}.detach();
}

void wait_display::end() {
    {
        const std::scoped_lock guard{state_->mutex};
        state_->ended = true;
    }
    state_->changed.notify_all();
    state_->line.end();
}

}  // namespace command
