// How a deadlock between threads of this process is found. See circles.hpp for the picture.
//
// A call that blocks costs nothing more than a mark; now and then, while any thread is blocked for longer than an instant,
// the clock's thread puts together who waits for what and who holds it. A deadlock does not go away, so a late look finds it
// as well as an early one. Calls with a time limit or a stop_token can end otherwise and are left alone.
#include "base/immortal.hpp"
#include "core/circles.hpp"
#include "core/engine.hpp"

#include <algorithm>
#include <fstream>
#include <unordered_set>

namespace mortise::inline v0::core {
namespace {

constexpr spi::duration first_look = std::chrono::milliseconds{100};
constexpr spi::duration longest_pause = std::chrono::seconds{2};

// All engines whose calls block: threads deadlock across clients, too.
struct everybody {
    std::mutex mutex;
    std::vector<std::weak_ptr<engine>> engines;

    static everybody& here() {
        static constinit base::one_per_process<everybody> all;
        return all();
    }
    void add(std::weak_ptr<engine> one) {
        std::scoped_lock guard{mutex};
        std::erase_if(engines, [](const auto& e) { return e.expired(); });
        engines.push_back(std::move(one));
    }
    std::vector<std::shared_ptr<engine>> alive() {
        std::scoped_lock guard{mutex};
        std::vector<std::shared_ptr<engine>> found;
        for (const auto& e : engines)
            if (auto one = e.lock()) found.push_back(std::move(one));
        return found;
    }
};

std::string thread_shown_as(std::int64_t thread) {
    std::string name;
    std::getline(std::ifstream{"/proc/self/task/" + std::to_string(thread) + "/comm"}, name);
    return "thread " + std::to_string(thread) + (name.empty() ? "" : " (" + name + ")");
}

}  // namespace

struct engine::blocked_call {
    std::shared_ptr<engine> home;
    std::shared_ptr<claimant> call;
    std::shared_ptr<reentry> frames;
    blocked_owner who;
    spi::time_point since;
    std::int64_t thread = 0;

    bool still() const { return call->is.load() == claimant::phase::waiting; }
};

void engine::look_for_circles_later() noexcept {
    if (looking_for_circles_.exchange(true)) return;
    try {
        std::call_once(known_to_block_, [&] { everybody::here().add(weak_from_this()); });
        keep_looking_for_circles(first_look);
    } catch (const std::exception&) {
        looking_for_circles_ = false;
    }
}

void engine::keep_looking_for_circles(spi::duration pause) noexcept {
    try {
        clock_->at(clock_->now() + pause, [self = weak_from_this(), pause] {
            if (const auto home = self.lock()) home->look_for_circles(pause);
        });
    } catch (const std::exception&) {  // the client ends, and all waits with it
    }
}

void engine::blocked_calls(std::vector<blocked_call>& found) {
    const std::string store =
        addressed() ? shown_as_ : shown_as_ + std::to_string(reinterpret_cast<std::uintptr_t>(this));
    const auto note = [&](const std::shared_ptr<cohort>& c) {
        for (const auto& call : c->line) {
            const claimant::wait& w = *call->waiting;
            if (w.owner == 0 || w.no_wait || w.on_stop || w.deadline != spi::time_point::max()) continue;
            found.push_back({.home = shared_from_this(),
                             .call = call,
                             .frames = w.frames->shared_from_this(),
                             .who = {w.owner, {store, c->terms.name}, c->terms.capacity, c->terms.weight},
                             .since = call->since,
                             .thread = w.thread});
        }
    };
    for (shard& s : shards_) {
        std::scoped_lock guard{s.mutex};
        for (const auto& c : s.joinable) note(c);
        for (const auto& c : s.solo) note(c);
    }
}

void engine::look_for_circles(spi::duration pause) {
    looking_for_circles_ = false;  // first: who blocks from now on sees to it again
    if (forked() || closed_.load()) return;
    std::vector<blocked_call> calls;
    for (const auto& e : everybody::here().alive()) e->blocked_calls(calls);
    if (std::none_of(calls.begin(), calls.end(), [&](const auto& c) { return c.home.get() == this; })) return;
    if (!looking_for_circles_.exchange(true)) keep_looking_for_circles(std::min(2 * pause, longest_pause));
    if (calls.size() < 2) return;

    std::unordered_set<owner_key> owners;
    std::vector<std::pair<reentry*, std::string>> tables;
    for (const auto& c : calls) {
        owners.insert(c.who.who);
        const std::pair table{c.frames.get(), c.who.on.store};
        if (std::find(tables.begin(), tables.end(), table) == tables.end()) tables.push_back(table);
    }
    std::vector<owned_lock> owned;
    for (const auto& [frames, store] : tables)
        frames->each_of(owners, [&, &of = store](const std::string& name, owner_key who, const reentry::frame& f) {
            const claim_terms& terms = claimant::of(f.hold)->cohort->terms;
            const bool lasts = f.hold.valid() && (terms.renewed || !terms.lease);
            if (lasts) owned.push_back({who, {of, name}, f.weight});
        });

    // Whoever was blocked before its locks were looked at and still is was blocked all the time: what was seen is true.
    std::vector<blocked_owner> who;
    for (const auto& c : calls) who.push_back(c.who);
    for (const auto& circle : find_circles(who, owned)) {
        if (!std::all_of(circle.begin(), circle.end(), [&](auto i) { return calls[i].still(); })) continue;
        for (const auto i : circle) who[i].shown_as = thread_shown_as(calls[i].thread);
        // It will never end by itself: the latest gives way.
        const auto latest = *std::max_element(circle.begin(), circle.end(),
                                              [&](auto a, auto b) { return calls[a].since < calls[b].since; });
        calls[latest].home->leave(
            calls[latest].call, calls[latest].who.on.name, errc::would_deadlock,
            describe_circle(who, circle) + "; take locks in one order everywhere, or with a multi_lock");
    }
}

}  // namespace mortise::inline v0::core
