#include "checker/verdict/liveness.hpp"

#include <algorithm>
#include <set>

namespace mortise::checker {
namespace {

std::int64_t last_heal(const history& all) {
    std::int64_t at = never;
    for (const record& one : all.records)
        if (one.what == act::heal && one.value == 0 && one.is == phase::ok) at = one.at;
    return at;
}

std::string seconds(std::int64_t ns) {
    return std::to_string(ns / 1'000'000) + " ms";
}

}  // namespace

judgement liveness(const history& all, const std::vector<operation>& operations, std::int64_t bound) {
    judgement found{.checker = "C5 liveness"};
    const std::int64_t healed = last_heal(all);
    if (healed == never) return found;
    std::set<std::uint32_t> alive;  // who said something since
    for (const record& one : all.records)
        if (one.at > healed) alive.insert(one.pid);
    const std::int64_t over = all.records.back().at;
    for (const operation& one : operations) {
        if (one.what != act::acquire || one.answered < healed || !alive.contains(one.pid)) continue;
        const std::int64_t from = std::max(healed, one.invoked);
        const std::int64_t took = std::min(one.answered, over) - from;
        ++found.checked;
        const std::string who = "process " + std::to_string(one.pid);
        if (one.is == phase::ok && took > bound)
            found.add(
                {who + " waited for " + seconds(took) + " after everything was healed", one.lock, from, one.ended});
        if (one.answered == never && took > bound)
            found.add({who + " still waits, " + seconds(took) + " after everything was healed", one.lock, from, over});
        if (one.answered != never && one.is != phase::ok && one.invoked >= healed)
            found.add({who + " was refused after everything was healed", one.lock, from, one.ended});
    }
    for (const record& one : all.records) {
        if (one.what != act::leftover) continue;
        ++found.checked;
        if (one.value != 0)
            found.add(
                {std::to_string(one.value) + (one.value == 1 ? " entry was" : " entries were") + " left in the store",
                 one.lock, one.at, one.at});
    }
    return found;
}

}  // namespace mortise::checker
