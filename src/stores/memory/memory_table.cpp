#include "stores/memory/memory_table.hpp"

#include "base/immortal.hpp"

#include <algorithm>
#include <chrono>
#include <map>

namespace mortise::inline v0::stores::memory {
namespace {

// Idle names kept per shard beyond which the oldest is forgotten at once, so a stream of fresh names stays bounded.
constexpr std::size_t most_idle = 4096;

}  // namespace

std::uint64_t memory_table::join(std::weak_ptr<table_client> client) {
    std::scoped_lock guard{sessions_mutex_};
    sessions_.emplace(next_session_, std::move(client));
    return next_session_++;
}

std::shared_ptr<const base::whereabouts> memory_table::keep(const std::string& host, std::int64_t pid) {
    std::scoped_lock guard{sessions_mutex_};
    auto known = std::find_if(processes_.begin(), processes_.end(),
                              [&](const auto& one) { return one->host == host && one->pid == pid; });
    if (known == processes_.end())
        known = processes_.insert(processes_.end(),
                                  std::make_unique<const base::whereabouts>(base::whereabouts{host, pid}));
    return {std::shared_ptr<const void>{}, known->get()};
}

void memory_table::leave(std::uint64_t gone) {
    {
        std::scoped_lock guard{sessions_mutex_};
        sessions_.erase(gone);
    }
    for (shard& s : shards_) {
        std::vector<table_actions> todo;
        {
            std::scoped_lock guard{s.mutex};
            const base::instant at = instant_now(s);
            for (auto& named : s.names) {
                table_actions e;
                named.second.state.drop_session(gone, at, e.effects);
                named.second.looked_at =
                    spi::time_point::max();  // the session that was to look may be the one that left
                after(s, named, 0, at, e);
                if (!e.nothing()) todo.push_back(std::move(e));
            }
            forget_idle(s, at.now);
        }
        for (const table_actions& e : todo) run(e);
    }
}

template <class Verb>
auto memory_table::with(std::string_view name, std::uint64_t session, bool grants, Verb&& verb) {
    table_actions todo;
    const name_key key{name};
    shard& s = shard_of(key);
    std::unique_lock guard{s.mutex};
    auto it = s.names.find(key);
    if (it == s.names.end())
        it = s.names.emplace(hashed<std::string>(std::string(name), key.hash), name_entry{s.floor}).first;
    // Only counters need the wall clock.
    const base::instant at = grants || it->second.state.waiting() > 0 ? instant_now(s) : base::instant{now_()};
    auto answer = verb(it->second.state, at, todo.effects);
    after(s, *it, session, at, todo);
    forget_idle(s, at.now);
    guard.unlock();
    if (!todo.nothing()) run(todo);
    return answer;
}

spi::claim_answer memory_table::claim(std::uint64_t session, const table_client& client,
                                      const std::shared_ptr<const base::whereabouts>& from,
                                      const spi::claim_request& wanted, spi::time_point here) {
    return with(wanted.name, session, true, [&](base::lock_state& state, base::instant at, base::effects& out) {
        if (client.gone()) return spi::claim_answer{.is = spi::claim_answer::verdict::refused, .reason = errc::closed};
        auto verdict = state.claim(base::kept_claim::of(wanted, session, from), wanted.capacity, wanted.queue, at, out);
        if (verdict.is == spi::claim_answer::verdict::granted)
            verdict.grant.counted_from = here - (at.now - verdict.grant.counted_from);
        return std::move(verdict).answer(wanted);
    });
}

spi::renewal_answer memory_table::renew(const spi::renewal& due) {
    return with(due.name, 0, false, [&](base::lock_state& state, base::instant at, base::effects& out) {
        return state.renew(due.id, due.lease, at, out);
    });
}

spi::release_answer memory_table::release(std::uint64_t session, std::string_view name, const claim_id& id) {
    return with(name, 0, false, [&](base::lock_state& state, base::instant at, base::effects& out) {
        return state.release(id, session, at, out);
    });
}

bool memory_table::break_hold(std::string_view name, std::uint64_t counter) {
    return with(name, 0, false, [&](base::lock_state& state, base::instant at, base::effects& out) {
        return state.break_hold(counter, at, out);
    });
}

spi::raise_answer memory_table::raise(const spi::raise_request& which) {
    using enum spi::raise_answer::verdict;
    return with(which.name, 0, false, [&](base::lock_state& state, base::instant at, base::effects& out) {
        std::scoped_lock guard{tokens_mutex_};
        if (which.version != tokens_.version || !tokens_.whole) return spi::raise_answer{.is = forgot};
        if (which.to <= tokens_.floor) return spi::raise_answer{.is = not_larger, .largest = tokens_.floor};
        const spi::raise_answer answer = state.raise(which.id, which.to, at, out);
        if (answer.is == raised) tokens_.highest = std::max(tokens_.highest, which.to);
        return answer;
    });
}

spi::token_memory memory_table::recall(const spi::recall_request& asked) {
    using enum spi::recall_request::change;
    std::scoped_lock guard{tokens_mutex_};
    if (asked.what == vouch && tokens_.whole) tokens_.version = claim_id::random();
    if (asked.what == restore && asked.version == tokens_.version && !tokens_.whole) {
        tokens_.whole = true;
        tokens_.floor = asked.floor;
        tokens_.highest = std::max(tokens_.highest, asked.floor);
    }
    return tokens_;
}

std::vector<spi::listed> memory_table::list() {
    std::vector<spi::listed> all;
    for (shard& s : shards_) {
        std::scoped_lock guard{s.mutex};
        const spi::time_point now = now_();
        for (const auto& [key, e] : s.names)
            for (const base::kept_claim& held : e.state.holders())
                if (now < held.ends && !held.idle())
                    all.push_back({key.name, held.describe(now), e.state.capacity(), held.weight, e.state.waiting(),
                                   held.left(now)});
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return all;
}

std::vector<spi::stored_claim> memory_table::records() const {
    std::vector<spi::stored_claim> all;
    for (const shard& s : shards_) {
        std::scoped_lock guard{s.mutex};
        const spi::time_point now = now_();
        for (const auto& [key, e] : s.names) {
            for (const base::kept_claim& held : e.state.holders())
                if (now < held.ends) all.push_back({key.name, held.id, true});
            e.state.each_waiting([&, &of = key.name](const base::kept_claim& one) {
                all.push_back({of, one.id, false});
            });
        }
    }
    return all;
}

void memory_table::settle(const std::string& name) {
    const name_key key{name};
    shard& s = shard_of(key);
    table_actions todo;
    {
        std::scoped_lock guard{s.mutex};
        const auto it = s.names.find(key);
        if (it == s.names.end()) return;
        const base::instant at = instant_now(s);
        it->second.looked_at = spi::time_point::max();
        it->second.state.settle(at, todo.effects);
        after(s, *it, 0, at, todo);
        forget_idle(s, at.now);
    }
    if (!todo.nothing()) run(todo);
}

std::size_t memory_table::names() const {
    std::size_t sum = 0;
    for (const shard& s : shards_) {
        std::scoped_lock guard{s.mutex};
        sum += s.names.size();
    }
    return sum;
}

std::shared_ptr<memory_table> memory_table::named(const std::string& name) {
    // A child's copy of its parent's locks means nothing.
    struct directory {
        std::mutex mutex;
        std::map<std::string, std::weak_ptr<memory_table>> tables;
    };
    static constinit base::one_per_process<directory> current;
    directory& here = current();
    std::scoped_lock guard{here.mutex};
    std::erase_if(here.tables, [](const auto& t) { return t.second.expired(); });
    std::shared_ptr<memory_table> found = here.tables[name].lock();
    if (!found) {
        found = std::make_shared<memory_table>([] { return boot_clock::now(); });
        here.tables[name] = found;
    }
    return found;
}

// The wall clock is read once a millisecond: in between, counters rise by one a grant, and so by less than the microseconds
// that pass. With the shard's mutex held.
base::instant memory_table::instant_now(shard& s) const {
    const spi::time_point now = now_();
    if (now - std::chrono::milliseconds{1} >= s.wall_read.now || now < s.wall_read.now)
        s.wall_read = base::instant::at(now);
    return {now, s.wall_read.wall_us};
}

// With waiters and a holder that can expire, some session must look when it does: the one that caused the change, or, if it has
// left, that of the first waiter.
void memory_table::after(shard& s, entries::value_type& named, std::uint64_t session, base::instant at,
                         table_actions& out) {
    name_entry& e = named.second;
    const bool to_look = e.state.waiting() > 0 && e.state.next_end() < e.looked_at;
    if (to_look) {
        e.looked_at = e.state.next_end();
        out.look_session = session != 0 ? session : e.state.first_waiting().session;
        out.look_in = e.looked_at - at.now;
    }
    if (!out.nothing()) out.name = named.first.name;
    if (e.state.idle() && !e.on_idle_list) {
        e.on_idle_list = true;
        s.idle.push_back(&named);
    }
}

void memory_table::forget_idle(shard& s, spi::time_point now) {
    // Two looks per new idle name keep up with any stream of them.
    for (int looks = 0; looks < 2 && !s.idle.empty(); ++looks) {
        entries::value_type* oldest = s.idle.front();
        name_entry& e = oldest->second;
        if (e.state.idle() && !e.state.forgettable(now) && s.idle.size() <= most_idle) return;
        s.idle.pop_front();
        if (!e.state.idle()) {
            e.on_idle_list = false;  // in use again; listed anew when it is idle the next time
            continue;
        }
        s.floor = std::max(s.floor, e.state.last_counter());
        s.names.erase(s.names.find(oldest->first));
    }
}

void memory_table::run(const table_actions& todo) const {
    for (const auto& notice : todo.effects.lost)
        if (const auto client = find(notice.session)) client->lost(todo.name, notice.id);
    for (const auto& notice : todo.effects.granted)
        if (const auto client = find(notice.session)) client->granted(todo.name, notice.id, notice.grant);
    if (todo.look_session != 0)
        if (const auto client = find(todo.look_session)) client->look_at(todo.name, todo.look_in);
}

std::shared_ptr<table_client> memory_table::find(std::uint64_t number) const {
    std::scoped_lock guard{sessions_mutex_};
    const auto it = sessions_.find(number);
    return it == sessions_.end() ? nullptr : it->second.lock();
}

}  // namespace mortise::inline v0::stores::memory
