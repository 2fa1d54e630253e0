#include "stores/sql/reading_callers.hpp"

#include <utility>

namespace mortise::inline v0::stores::sql {
namespace {

// Of the calling thread: it will sleep; on which connection it has asked, and for which claim; which one it reads.
thread_local bool sleeps_soon = false;
thread_local std::shared_ptr<connection> asked_on;
thread_local claim_id asks_for;
thread_local const connection* reads = nullptr;
// Its entry among those who read, when it does not: a call is to make none.
thread_local std::unordered_map<const spi::sleeper*, std::shared_ptr<connection>>::node_type spare_entry;

}  // namespace

void reading_callers::will_sleep(bool whether) noexcept {
    sleeps_soon = whether;
    asked_on.reset();
    connection::will_wait(false);
}

void reading_callers::about_to_ask(const claim_id& what_for, const std::shared_ptr<connection>& line) {
    if (reads != nullptr) {
        if (what_for != claim_id{} && what_for == asks_for && line.get() != reads) asked_on = line;
    } else if (sleeps_soon && !asked_on) {
        asked_on = line;
        asks_for = what_for;
    }
    connection::will_wait((sleeps_soon || reads != nullptr) && asked_on == line);
}

void reading_callers::sleep(spi::sleeper& who) {
    sleeps_soon = false;
    connection::will_wait(false);
    std::shared_ptr<connection> line = std::exchange(asked_on, nullptr);
    if (!line) {
        int was = spi::sleeper::awake;
        if (who.is.compare_exchange_strong(was, spi::sleeper::asleep)) who.is.wait(spi::sleeper::asleep);
        return;
    }
    while (line) {
        {
            const std::scoped_lock guard{mutex_};
            enter(who, line);
        }
        reads = line.get();
        line->wait(who, [] { return asked_on != nullptr; });
        line = std::exchange(asked_on, nullptr);
    }
    reads = nullptr;
    const std::scoped_lock guard{mutex_};
    spare_entry = reading_.extract(&who);
    spare_entry.mapped().reset();
}

void reading_callers::enter(const spi::sleeper& who, const std::shared_ptr<connection>& line) {
    if (!spare_entry) {
        reading_[&who] = line;  // it reads another one already, or has never read
        return;
    }
    spare_entry.key() = &who;
    spare_entry.mapped() = line;
    reading_.insert(std::move(spare_entry));
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
