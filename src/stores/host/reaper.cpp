#include "stores/host/reaper.hpp"

#include "stores/host/format.hpp"
#include "stores/host/temporary_error.hpp"

#include <mortise/boot_clock.hpp>

#include <functional>
#include <map>
#include <optional>
#include <random>

namespace mortise::inline v0::stores::host {
namespace {

constexpr std::size_t most_sessions_checked = 128;

// With the ledger locked: a client that comes must not keep the others waiting until it has seen a million names.
constexpr std::size_t names_at_a_time = 512;

// All names, or some if the ledger is busy.
void each_by_and_by(ledger& where, std::chrono::milliseconds at_most,
                    const std::function<void(ledger_access&, block_number)>& visit) {
    try {
        for (std::uint32_t bucket = 0; bucket < format::bucket_count;) {
            ledger_access in{where, at_most};
            bucket = in.each_of_some(bucket, names_at_a_time, [&](block_number n) { visit(in, n); });
            in.must_be_sound();
        }
    } catch (const temporary_error&) {
    }
}

void each_claim(ledger_access& in, block_number name, const std::function<void(block_number)>& visit) {
    for (const claim_list* list : {&in.name(name).holders, &in.name(name).queue})
        for (block_number c = in.first(*list); c != 0; c = in.after(c)) visit(c);
}

// Every session that has a claim, and whether it is known to be gone. One that is gone does not come back.
std::map<session_id, bool> sessions_gone(ledger& where, std::chrono::milliseconds at_most) {
    std::map<session_id, bool> gone;
    each_by_and_by(where, at_most, [&](ledger_access& in, block_number n) {
        each_claim(in, n, [&](block_number c) {
            bool& known = gone[in.claim(c).session];
            known = known || in.abandoned(c);
        });
    });
    auto next = gone.begin();
    if (gone.size() > most_sessions_checked)
        std::advance(next, static_cast<std::ptrdiff_t>(std::random_device{}() % gone.size()));
    for (std::size_t asked = 0; asked < std::min(gone.size(), most_sessions_checked); ++asked) {
        if (!next->second) next->second = !is_alive(where, next->first);
        if (++next == gone.end()) next = gone.begin();
    }
    return gone;
}

}  // namespace

bool is_alive(const ledger& in, session_id owner) noexcept {
    return in.alive(slot_of(owner));
}

bool has_owner(const ledger& in, const named_state& state, block_number claim) noexcept {
    return !state.abandoned(claim) && is_alive(in, state.at(claim).session);
}

std::vector<std::pair<std::string, base::effects>> reap_all(ledger& where, std::chrono::milliseconds at_most) {
    std::vector<std::pair<std::string, base::effects>> all;
    const std::map<session_id, bool> gone = sessions_gone(where, at_most);
    each_by_and_by(where, at_most, [&](ledger_access& in, block_number n) {
        std::set<session_id> dead;
        each_claim(in, n, [&](block_number c) {
            const auto found = gone.find(in.claim(c).session);
            if (found != gone.end() && found->second) dead.insert(found->first);
        });
        const bool empty = in.name(n).holders.count + in.name(n).queue.count ==
                           0;  // its process was killed before it removed the name
        if (!empty && dead.empty()) return;
        auto& [name, out] = all.emplace_back(std::string(in.name(n).text()), base::effects{});
        named_state state{in, name};
        for (const session_id owner : dead) state.drop_session(owner, base::instant::at(boot_clock::now()), out);
        state.finish();
    });
    return all;
}

std::set<session_id> reap_blocking(const ledger& in, named_state& state, base::instant at, base::effects& out) {
    std::set<session_id> living;  // checked once each
    std::set<session_id> reaped;
    while (true) {
        std::optional<session_id> gone;
        const auto check = [&](block_number n) {
            const base::kept_claim c = state.at(n);
            if (gone || c.detached) return;
            if (!state.abandoned(n) && (living.contains(c.session) || is_alive(in, c.session))) {
                living.insert(c.session);
            } else if (!reaped.contains(c.session)) {
                gone = c.session;
            }
        };
        for (block_number n = state.first_holder(); n != 0; n = state.after(n)) check(n);
        if (const block_number first = state.first_in_queue()) check(first);
        if (!gone) return reaped;
        state.drop_session(*gone, at, out);
        reaped.insert(*gone);
    }
}

}  // namespace mortise::inline v0::stores::host
