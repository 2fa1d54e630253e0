#include "stores/host/burying.hpp"

#include <mortise/boot_clock.hpp>

#include <map>
#include <optional>

namespace mortise::inline v0::stores::host {

bool is_alive(const ledger& in, session who) noexcept {
    return in.alive(seat_of(who), who);
}

std::vector<std::pair<std::string, base::effects>> bury_all(ledger& where) {
    std::vector<std::pair<std::string, base::effects>> all;
    ledger::access in{where};
    std::map<session, bool> lives;  // asked once each
    in.each([&](block_number n) {
        const auto dead = [&](block_number c) {
            const auto [it, fresh] = lives.emplace(in.claim(c).session, true);
            if (fresh) it->second = is_alive(where, it->first);
            return !it->second;
        };
        bool any = in.name(n).holders.count + in.name(n).queue.count == 0;  // killed before it forgot the name
        for (block_number c = in.name(n).holders.first; c != 0; c = in.claim(c).next) any = any || dead(c);
        for (block_number c = in.name(n).queue.first; c != 0; c = in.claim(c).next) any = any || dead(c);
        if (!any) return;
        auto& [name, out] = all.emplace_back(std::string(in.name(n).text()), base::effects{});
        named_state state{in, name};
        for (const auto& [who, is_there] : lives)
            if (!is_there) state.drop_session(who, base::instant::at(boot_clock::now()), out);
        state.finish();
    });
    return all;
}

std::set<session> bury_those_in_the_way(const ledger& in, named_state& state, base::instant at, base::effects& out) {
    std::set<session> living;  // asked once each
    std::set<session> buried;
    while (true) {
        std::optional<session> gone;
        const auto check = [&](block_number n) {
            const base::kept_claim c = state.at(n);
            if (gone || c.detached || living.contains(c.session)) return;
            if (is_alive(in, c.session)) {
                living.insert(c.session);
            } else {
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
