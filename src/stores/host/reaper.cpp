#include "stores/host/reaper.hpp"

#include <mortise/boot_clock.hpp>

#include <map>
#include <optional>
#include <random>

namespace mortise::inline v0::stores::host {
namespace {

constexpr std::size_t most_sessions_checked = 128;

// Every session that has a claim, and whether it is known to be gone.
std::map<session_id, bool> sessions_gone(ledger& where, ledger_access& in) {
    std::map<session_id, bool> gone;
    in.each([&](block_number n) {
        const auto note = [&](block_number c) {
            for (; c != 0; c = in.after(c)) {
                bool& known = gone[in.claim(c).session];
                known = known || in.abandoned(c);
            }
        };
        note(in.first(in.name(n).holders));
        note(in.first(in.name(n).queue));
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
    ledger_access in{where, at_most};
    const std::map<session_id, bool> gone = sessions_gone(where, in);
    in.each([&](block_number n) {
        std::set<session_id> dead;
        const auto note = [&](block_number c) {
            for (; c != 0; c = in.after(c))
                if (gone.at(in.claim(c).session)) dead.insert(in.claim(c).session);
        };
        const bool empty = in.name(n).holders.count + in.name(n).queue.count ==
                           0;  // its process was killed before it removed the name
        note(in.first(in.name(n).holders));
        note(in.first(in.name(n).queue));
        if (!empty && dead.empty()) return;
        auto& [name, out] = all.emplace_back(std::string(in.name(n).text()), base::effects{});
        named_state state{in, name};
        for (const session_id owner : dead) state.drop_session(owner, base::instant::at(boot_clock::now()), out);
        state.finish();
    });
    in.must_be_sound();
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
