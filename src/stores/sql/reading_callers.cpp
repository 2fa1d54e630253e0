#include "stores/sql/reading_callers.hpp"

#include <utility>

namespace mortise::inline v0::stores::sql {
namespace {

// Of the calling thread: it will sleep, and on which connection it has asked.
thread_local bool sleeps_soon = false;
thread_local std::shared_ptr<connection> asked_on;

}  // namespace

void reading_callers::will_sleep(bool whether) noexcept {
    sleeps_soon = whether;
    asked_on.reset();
    connection::will_wait(false);
}

void reading_callers::about_to_ask(const std::shared_ptr<connection>& line) {
    if (sleeps_soon && !asked_on) asked_on = line;
    connection::will_wait(sleeps_soon && asked_on == line);
}

void reading_callers::sleep(spi::sleeper& who) {
    sleeps_soon = false;
    connection::will_wait(false);
    const std::shared_ptr<connection> line = std::exchange(asked_on, nullptr);
    if (!line) {
        int was = spi::sleeper::awake;
        if (who.is.compare_exchange_strong(was, spi::sleeper::asleep)) who.is.wait(spi::sleeper::asleep);
        return;
    }
    {
        const std::scoped_lock guard{mutex_};
        reading_[&who] = line;
    }
    line->wait(who);
    const std::scoped_lock guard{mutex_};
    reading_.erase(&who);
}

void reading_callers::wake(spi::sleeper& who) noexcept {
    if (who.is.exchange(spi::sleeper::answered) == spi::sleeper::asleep) return who.is.notify_one();
    // After it was answered: it may be about to read.
    std::shared_ptr<connection> line;
    {
        const std::scoped_lock guard{mutex_};
        const auto found = reading_.find(&who);
        if (found != reading_.end()) line = found->second;
    }
    if (line) line->nudge(who);
}

}  // namespace mortise::inline v0::stores::sql
