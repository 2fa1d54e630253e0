#include "core/deadlock_detector.hpp"

#include "base/immortal.hpp"

#include <algorithm>
#include <fstream>
#include <string>
#include <unordered_set>

namespace mortise::inline v0::core {
namespace {

constexpr spi::duration first_look = std::chrono::milliseconds{100};
constexpr spi::duration longest_pause = std::chrono::seconds{2};

std::string thread_shown_as(std::int64_t thread) {
    std::string name;
    std::getline(std::ifstream{"/proc/self/task/" + std::to_string(thread) + "/comm"}, name);
    return "thread " + std::to_string(thread) + (name.empty() ? "" : " (" + name + ")");
}

}  // namespace

// The detectors of all clients whose calls block: threads deadlock across clients, too.
struct deadlock_detector::everybody {
    std::mutex mutex;
    std::vector<std::pair<std::weak_ptr<hold_keeper>, deadlock_detector*>> detectors;

    static everybody& here() {
        static constinit base::one_per_process<everybody> all;
        return all();
    }
    void add(deadlock_detector& one) {
        std::scoped_lock guard{mutex};
        std::erase_if(detectors, [](const auto& d) { return d.first.expired(); });
        detectors.emplace_back(one.client_, &one);
    }
    std::vector<std::shared_ptr<deadlock_detector>> alive() {
        std::scoped_lock guard{mutex};
        std::vector<std::shared_ptr<deadlock_detector>> found;
        for (const auto& [client, detector] : detectors)
            if (auto one = client.lock()) found.emplace_back(std::move(one), detector);
        return found;
    }
};

struct deadlock_detector::blocked_call {
    std::shared_ptr<deadlock_detector> home;
    std::shared_ptr<claimant> call;
    std::shared_ptr<reentry> frames;
    blocked_owner owner;
    std::size_t name_hash = 0;
    spi::time_point since;
    std::int64_t thread = 0;

    bool still() const { return call->is.load() == claimant::phase::waiting; }
};

void deadlock_detector::look_later() noexcept {
    if (looking_.exchange(true)) return;
    try {
        std::call_once(registered_, [&] { everybody::here().add(*this); });
        keep_looking(first_look);
    } catch (const std::exception&) {
        looking_ = false;
    }
}

void deadlock_detector::keep_looking(spi::duration pause) noexcept {
    try {
        link_.clock.at(link_.clock.now() + pause, [this, weak = client_, pause] {
            if (const auto client = weak.lock()) look(pause);
        });
    } catch (const std::exception&) {  // the client ends, and all waits with it
    }
}

void deadlock_detector::add_blocked_calls(std::vector<blocked_call>& found,
                                          const std::shared_ptr<deadlock_detector>& self) {
    const std::string store = policy_.addressed()
                                  ? policy_.shown_as()
                                  : policy_.shown_as() + std::to_string(reinterpret_cast<std::uintptr_t>(this));
    table_.each([&](const std::shared_ptr<cohort>& c) {
        for (const auto& call : c->line) {
            const claimant::wait& w = *call->waiting;
            if (w.owner == 0 || w.no_wait || w.on_stop || w.deadline != spi::time_point::max()) continue;
            found.push_back({.home = self,
                             .call = call,
                             .frames = w.frames->shared_from_this(),
                             .owner = {w.owner, {store, c->terms.name}, c->terms.capacity, c->terms.weight},
                             .name_hash = c->terms.name_hash,
                             .since = call->since.load(),
                             .thread = w.thread});
        }
    });
}

void deadlock_detector::look(spi::duration pause) {
    looking_ = false;  // first: who blocks from now on sees to it again
    if (link_.ended()) return;
    std::vector<blocked_call> calls;
    for (const auto& one : everybody::here().alive()) one->add_blocked_calls(calls, one);
    if (std::none_of(calls.begin(), calls.end(), [&](const auto& c) { return c.home.get() == this; })) return;
    if (!looking_.exchange(true)) keep_looking(std::min(2 * pause, longest_pause));
    if (calls.size() < 2) return;

    std::unordered_set<owner_key> owners;
    std::vector<std::pair<reentry*, std::string>> tables;
    for (const auto& c : calls) {
        owners.insert(c.owner.who);
        const std::pair table{c.frames.get(), c.owner.on.store};
        if (std::find(tables.begin(), tables.end(), table) == tables.end()) tables.push_back(table);
    }
    std::vector<owned_lock> owned;
    for (const auto& [frames, store] : tables)
        frames->each_of(owners, [&, &of = store](const std::string& name, owner_key owner, const reentry::frame& f) {
            const claim_terms& terms = claimant::of(f.hold)->cohort->terms;
            const bool lasts = f.hold.valid() && (terms.renewed || !terms.lease);
            if (lasts) owned.push_back({owner, {of, name}, f.weight});
        });

    // Whoever was blocked before its locks were looked at and still is was blocked all the time: what was seen is true.
    std::vector<blocked_owner> blocked;
    for (const auto& c : calls) blocked.push_back(c.owner);
    for (const auto& cycle : find_cycles(blocked, owned)) {
        if (!std::all_of(cycle.begin(), cycle.end(), [&](auto i) { return calls[i].still(); })) continue;
        for (const auto i : cycle) blocked[i].shown_as = thread_shown_as(calls[i].thread);
        // It will never end by itself: the latest gives way.
        const blocked_call& latest = calls[*std::max_element(
            cycle.begin(), cycle.end(), [&](auto a, auto b) { return calls[a].since < calls[b].since; })];
        latest.home->requester_.give_up(
            latest.call, latest.name_hash, errc::would_deadlock,
            describe_cycle(blocked, cycle) + "; take locks in one order everywhere, or with a multi_lock");
    }
}

}  // namespace mortise::inline v0::core
