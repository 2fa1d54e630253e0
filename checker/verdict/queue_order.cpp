#include "checker/verdict/queue_order.hpp"

#include "checker/history/queue_history.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace mortise::checker {
namespace {

using moments = std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::int64_t>>;  // by process and lock

moments queued_in(const history& all) {
    moments found;
    for (const record& one : all.records)
        if (one.what == act::queued) found[{one.pid, one.lock}].push_back(one.at);
    return found;
}

std::int64_t in_line(const operation& grant, const moments& queued) {
    const auto of = queued.find({grant.pid, grant.lock});
    if (of == queued.end()) return grant.ended;
    const auto at = std::lower_bound(of->second.begin(), of->second.end(), grant.invoked);
    return at == of->second.end() ? grant.ended : std::min(*at, grant.ended);
}

}  // namespace

judgement queue_order(const history& all, const std::vector<hold_span>& holds) {
    judgement found{.checker = "C7 order of arrival"};
    const moments queued = queued_in(all);
    struct line {
        std::vector<const operation*> grants;
        std::vector<testing::queued_claim> claims;
    };
    std::map<std::uint32_t, line> locks;
    for (const hold_span& one : holds) {
        const operation& grant = one.grant;
        if (grant.capacity != 1) continue;
        line& of = locks[grant.lock];
        of.grants.push_back(&grant);
        of.claims.push_back({.asked = grant.invoked,
                             .in_line = in_line(grant, queued),
                             .granted = grant.ended,
                             .counter = grant.token});
    }
    for (const auto& [lock, of] : locks) {
        const testing::queue_verdict verdict = testing::check_order(of.claims);
        found.checked += verdict.contested;
        for (const testing::overtaking& each : verdict.inversions)
            found.add({named(*of.grants[each.passed]) + " stood in line before " + named(*of.grants[each.by]) +
                           " was asked for, and was granted after it",
                       lock, of.claims[each.passed].in_line, of.claims[each.passed].granted});
    }
    return found;
}

}  // namespace mortise::checker
