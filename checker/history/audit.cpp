#include "checker/history/audit.hpp"

#include <algorithm>
#include <thread>

namespace mortise::testing {

using stage = spi::admitted_claim::stage;

std::string audit_verdict::describe() const {
    constexpr std::size_t shown = 10;
    std::string text = std::to_string(orphans.size()) + " orphans, " + std::to_string(idle.size()) + " idle names";
    for (std::size_t i = 0; i < std::min(orphans.size(), shown); ++i)
        text += std::string("\n  nobody admits to ") + (orphans[i].holds ? "the holder" : "a waiter") + " of '" +
                orphans[i].name + "', " + orphans[i].id.hex() + " " + orphans[i].where;
    for (std::size_t i = 0; i < std::min(idle.size(), shown); ++i)
        text += "\n  nobody holds '" + idle[i] + "', and somebody waits for it";
    return text;
}

void audit_judge::see(const audit_sighting& now) {
    if (!first_) first_ = now.at;
    look_for_orphans(now);
    look_for_idle_names(now);
}

void audit_judge::look_for_orphans(const audit_sighting& now) {
    std::set<std::pair<std::string, claim_id>> theirs;
    for (const auto& one : now.admitted) theirs.emplace(one.name, one.id);
    std::map<std::pair<std::string, claim_id>, orphan> still;
    for (const auto& one : now.stored) {
        const std::pair key{one.name, one.id};
        if (theirs.contains(key)) continue;
        const auto before = orphans_.find(key);
        orphan& suspect = still.emplace(key, before == orphans_.end() ? orphan{now.at} : before->second).first->second;
        if (suspect.convicted || !long_enough(suspect.since, now.at)) continue;
        suspect.convicted = true;
        found_.orphans.push_back(one);
    }
    orphans_ = std::move(still);
}

void audit_judge::look_for_idle_names(const audit_sighting& now) {
    std::set<std::string> waited_for;
    std::set<std::string> held;
    std::map<std::string, holders> stored;
    for (const auto& one : now.admitted) {
        if (one.is == stage::waiting) waited_for.insert(one.name);
        if (one.is == stage::holding) held.insert(one.name);
    }
    for (const auto& one : now.stored)
        if (one.holds) stored[one.name].insert(one.id);
    std::map<std::string, idle_name> still;
    for (const std::string& name : waited_for) {
        if (held.contains(name)) continue;
        const auto before = idle_.find(name);
        const bool same = before != idle_.end() && before->second.stored == stored[name];
        idle_name& suspect = still.emplace(name, same ? before->second : idle_name{now.at, stored[name]}).first->second;
        if (suspect.convicted || !long_enough(suspect.since, now.at)) continue;
        suspect.convicted = true;
        found_.idle.push_back(name);
    }
    idle_ = std::move(still);
}

bool audit_judge::undecided() const {
    const auto open = [&](const auto& one) { return !one.second.convicted && one.second.since == first_; };
    return std::any_of(orphans_.begin(), orphans_.end(), open) || std::any_of(idle_.begin(), idle_.end(), open);
}

audit_verdict audit(std::chrono::nanoseconds bound, const std::function<std::vector<spi::stored_claim>()>& stored,
                    const std::function<std::vector<spi::admitted_claim>()>& admitted) {
    audit_judge judge{bound};
    while (true) {
        // A claim that is made between the two looks is admitted to; one that ends is cleared by the next sighting.
        auto seen = stored();
        judge.see({std::chrono::steady_clock::now(), std::move(seen), admitted()});
        if (!judge.undecided()) return judge.found();
        std::this_thread::sleep_for(std::chrono::milliseconds{50});
    }
}

std::vector<spi::admitted_claim> admitted_by(const std::vector<const client*>& clients) {
    std::vector<spi::admitted_claim> all;
    for (const client* const one : clients) {
        const auto some = spi::admitted(*one);
        all.insert(all.end(), some.begin(), some.end());
    }
    return all;
}

}  // namespace mortise::testing
