#include "stores/mysql/grant_listener.hpp"

#include "stores/mysql/row_dialect.hpp"
#include "stores/sql/row_line.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace mortise::inline v0::stores::mysql {
namespace {

// The server does not notice that a client is gone while it sleeps for it.
constexpr std::chrono::seconds sleeps_for{1};
constexpr std::chrono::milliseconds asks_again_in{200};  // after a failure

constexpr std::size_t record_size = 24;
constexpr char nothing_else = ',';  // was granted

}  // namespace

struct grant_listener::state : std::enable_shared_from_this<state> {
    state(connect make, std::int64_t number, spi::clock& time, sql::row_woken to_tell)
        : connects(std::move(make)), session(number), clock(time), told(std::move(to_tell)) {}

    // Unless it asks already. Not with the mutex held.
    void ask() {
        std::string ids;
        std::string others;
        std::shared_ptr<sql::connection> on;
        {
            const std::scoped_lock guard{mutex};
            if (closed || asking || watched.empty()) return;
            if (!line)
                line = connects([weak = weak_from_this()](const sql::notification& granted) {
                    if (const auto self = weak.lock()) self->heard(granted);
                });
            on = line;
            asking = true;
            asked_for.clear();
            asked = clock.now();
            waits_for.clear();
            std::string rest;
            for (const claim_id& mine : in_order()) {
                asked_for.insert(mine);
                const claim_id& before = watched[mine].before;
                (before != claim_id{} ? ids : rest) += sql::bytes_of(mine);
                if (before == claim_id{}) continue;
                others += sql::bytes_of(before);
                waits_for.push_back(before);
            }
            ids += rest;
        }
        on->run(
            await, {session, std::move(ids), std::move(others), std::int64_t{sleeps_for.count()}},
            [weak = weak_from_this()](const sql::result& answer) {
                if (const auto self = weak.lock()) self->ended(answer);
            },
            sleeps_for);
    }

    void ended(const sql::result& how) {
        {
            const std::scoped_lock guard{mutex};
            asking = false;
            serves = how.how.ok() || how.how.is == sql::outcome::kind::conflict;  // it was ended
        }
        if (serves) return ask();
        clock.at(clock.now() + asks_again_in, [weak = weak_from_this()] {
            if (const auto self = weak.lock()) self->ask();
        });
    }

    void heard(const sql::notification& granted) {
        std::unordered_map<claim_id, std::uint64_t> numbers;
        if (granted.payload.size() % record_size != 0)
            for (const claim_id& mine : left(granted.payload.back() == nothing_else)) numbers[mine] = 0;
        for (const auto& [mine, number] : sql::numbered_ids_in(granted.payload)) numbers[mine] = number;
        for (const auto& [mine, number] : numbers) told(mine, number);
    }

    // The first of those that are waited for has left, and the next is. Who was behind it has somebody else before it now, if it was not
    // granted; and a claim that was not asked for may have been, since nobody else ended the statement.
    std::vector<claim_id> left(bool only_whom_it_tells) {
        const std::scoped_lock guard{mutex};
        if (waits_for.empty()) return {};
        const claim_id gone = waits_for.front();
        waits_for.pop_front();
        std::vector<claim_id> look;
        for (auto& [mine, at] : watched) {
            const bool behind = at.before == gone;
            if (behind) at.before = {};
            if (!only_whom_it_tells && (behind || !asked_for.contains(mine))) look.push_back(mine);
        }
        if (!only_whom_it_tells) asked = clock.now();
        return look;
    }

    // As they stand: whoever is first in a line is granted first.
    std::vector<claim_id> in_order() const {
        std::vector<claim_id> all;
        for (const auto& [mine, at] : watched) all.push_back(mine);
        std::ranges::sort(all, {}, [&](const claim_id& mine) { return watched.at(mine).stands; });
        return all;
    }

    const connect connects;
    const std::int64_t session;
    spi::clock& clock;
    const sql::row_woken told;
    const sql::statement await = await_grants();

    mutable std::mutex mutex;
    bool closed = false;
    bool asking = false;
    std::atomic<bool> serves{true};
    std::shared_ptr<sql::connection> line;
    std::unordered_map<claim_id, waiter> watched;
    std::unordered_set<claim_id> asked_for;  // by the statement that runs
    std::deque<claim_id> waits_for;          // which claims it waits for, one after the other
    spi::time_point asked{};                 // when it was sent
};

grant_listener::grant_listener(connect make, std::int64_t session, spi::clock& clock, sql::row_woken told)
    : state_(std::make_shared<state>(std::move(make), session, clock, std::move(told))) {}

grant_listener::~grant_listener() {
    close();
}

// Of a claim that is not asked for: if it was granted after the statement began, that is ended, and it will be asked for by the
// next one. If before, nobody knew whom to wake.
bool grant_listener::watch(const waiter& mine) {
    bool missed = false;
    {
        const std::scoped_lock guard{state_->mutex};
        state_->watched[mine.id] = mine;
        missed = state_->asking && !state_->asked_for.contains(mine.id) && mine.ungranted <= state_->asked;
    }
    state_->ask();
    return missed;
}

void grant_listener::unwatch(const claim_id& mine) {
    const std::scoped_lock guard{state_->mutex};
    state_->watched.erase(mine);
}

bool grant_listener::serves() const {
    return state_->serves;
}

void grant_listener::close() noexcept {
    std::shared_ptr<sql::connection> line;
    {
        const std::scoped_lock guard{state_->mutex};
        state_->closed = true;
        line.swap(state_->line);
    }
    if (line) line->close();
}

}  // namespace mortise::inline v0::stores::mysql
