#include "stores/host/burying.hpp"

#include <mortise/boot_clock.hpp>

#include <map>
#include <optional>
#include <random>

namespace mortise::inline v0::stores::host {
namespace {

constexpr std::size_t most_asked_after = 128;

// Every session that has a claim: whether it is gone, as far as is known.
std::map<session, bool> sessions_gone(ledger& where, ledger::access& in) {
    std::map<session, bool> gone;
    in.each([&](block_number n) {
        const auto note = [&](block_number c) {
            for (; c != 0; c = in.after(c)) {
                bool& known = gone[in.claim(c).session];
                known = known || in.left(c);
            }
        };
        note(in.first(in.name(n).holders));
        note(in.first(in.name(n).queue));
    });
    auto next = gone.begin();
    if (gone.size() > most_asked_after)
        std::advance(next, static_cast<std::ptrdiff_t>(std::random_device{}() % gone.size()));
    for (std::size_t asked = 0; asked < std::min(gone.size(), most_asked_after); ++asked) {
        if (!next->second) next->second = !is_alive(where, next->first);
        if (++next == gone.end()) next = gone.begin();
    }
    return gone;
}

}  // namespace

bool is_alive(const ledger& in, session who) noexcept {
    return in.alive(seat_of(who));
}

bool has_owner(const ledger& in, const named_state& state, block_number claim) noexcept {
    return !state.left(claim) && is_alive(in, state.at(claim).session);
}

std::vector<std::pair<std::string, base::effects>> bury_all(ledger& where, std::chrono::milliseconds at_most) {
    std::vector<std::pair<std::string, base::effects>> all;
    ledger::access in{where, at_most};
    const std::map<session, bool> gone = sessions_gone(where, in);
    in.each([&](block_number n) {
        std::set<session> dead;
        const auto note = [&](block_number c) {
            for (; c != 0; c = in.after(c))
                if (gone.at(in.claim(c).session)) dead.insert(in.claim(c).session);
        };
        const bool empty = in.name(n).holders.count + in.name(n).queue.count == 0;  // killed before it forgot the name
        note(in.first(in.name(n).holders));
        note(in.first(in.name(n).queue));
        if (!empty && dead.empty()) return;
        auto& [name, out] = all.emplace_back(std::string(in.name(n).text()), base::effects{});
        named_state state{in, name};
        for (const session who : dead) state.drop_session(who, base::instant::at(boot_clock::now()), out);
        state.finish();
    });
    in.must_be_sound();
    return all;
}

std::set<session> bury_those_in_the_way(const ledger& in, named_state& state, base::instant at, base::effects& out) {
    std::set<session> living;  // asked once each
    std::set<session> buried;
    while (true) {
        std::optional<session> gone;
        const auto check = [&](block_number n) {
            const base::kept_claim c = state.at(n);
            if (gone || c.detached) return;
            if (!state.left(n) && (living.contains(c.session) || is_alive(in, c.session))) {
                living.insert(c.session);
            } else if (!buried.contains(c.session)) {
                gone = c.session;
            }
        };
        for (block_number n = state.first_holder(); n != 0; n = state.after(n)) check(n);
        if (const block_number first = state.first_in_queue()) check(first);
        if (!gone) return buried;
        state.drop_session(*gone, at, out);
        buried.insert(*gone);
    }
}

}  // namespace mortise::inline v0::stores::host
