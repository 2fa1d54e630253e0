#include "checker/verdict/queue_order.hpp"

#include "checker/history/queue_history.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

namespace mortise::checker {
namespace {

// Of one process and one lock, by time.
struct places {
    std::vector<std::int64_t> taken{};
    std::vector<std::int64_t> lost{};
};
using place_notes = std::map<std::pair<std::uint32_t, std::uint32_t>, places>;

place_notes places_in(const history& all) {
    place_notes found;
    for (const record& one : all.records) {
        if (one.what == act::queued) found[{one.pid, one.lock}].taken.push_back(one.at);
        if (one.what == act::unqueued) found[{one.pid, one.lock}].lost.push_back(one.at);
    }
    return found;
}

std::int64_t in_line_since(const operation& grant, std::int64_t since, const places& noted) {
    const auto at = std::ranges::lower_bound(noted.taken, since);
    return at == noted.taken.end() ? grant.ended : std::min(*at, grant.ended);
}

// When the store may have given the lock to the next one. A holder that died had it until its lease ended.
std::int64_t free_from(const hold_span& one) {
    const std::int64_t until = one.grant.valid_until;
    if (one.end == phase::ok && one.left != never) return one.left;
    if (until == never) return one.valid_to;
    const std::int64_t lease = until - one.grant.ended;
    return std::min(one.left, std::max(until, one.left == never ? one.valid_to + lease : one.valid_to));
}

// Whether nobody held the lock for so long: it had been granted to somebody who did not answer. By the time of their grants.
bool lay_idle(const std::vector<const hold_span*>& holds, std::int64_t from, std::int64_t to,
              std::int64_t for_so_long) {
    std::int64_t free_since = from;
    for (const hold_span* one : holds) {
        if (std::min(one->grant.ended, to) - free_since >= for_so_long) return true;
        free_since = std::max(free_since, free_from(*one));
    }
    return to - free_since >= for_so_long;
}

// Since when it stood in line for good: each place that it lost before was granted to it, and not answered.
std::int64_t kept_place_since(const operation& grant, const places& noted, const std::vector<const hold_span*>& holds,
                              std::int64_t answered_in) {
    std::int64_t since = in_line_since(grant, grant.invoked, noted);
    for (auto lost = std::ranges::lower_bound(noted.lost, grant.invoked);
         lost != noted.lost.end() && *lost <= grant.ended; ++lost) {
        if (!lay_idle(holds, since, *lost, answered_in)) break;
        since = in_line_since(grant, *lost, noted);
    }
    return since;
}

}  // namespace

judgement queue_order(const history& all, const std::vector<hold_span>& holds, std::int64_t answered_in) {
    judgement found{.checker = "C7 order of arrival"};
    place_notes noted = places_in(all);
    struct line {
        std::vector<const hold_span*> holds;
        std::vector<testing::queued_claim> claims;
    };
    std::map<std::uint32_t, line> locks;
    for (const hold_span& one : holds) {
        const operation& grant = one.grant;
        if (grant.capacity != 1) continue;
        line& of = locks[grant.lock];
        of.holds.push_back(&one);
        of.claims.push_back({.asked = grant.invoked,
                             .in_line = in_line_since(grant, grant.invoked, noted[{grant.pid, grant.lock}]),
                             .granted = grant.ended,
                             .counter = grant.token});
    }
    for (auto& [lock, of] : locks) {
        const std::size_t before = testing::check_order(of.claims).inversions.size();
        for (std::size_t i = 0; i < of.holds.size(); ++i) {
            const operation& grant = of.holds[i]->grant;
            of.claims[i].in_line = kept_place_since(grant, noted[{grant.pid, grant.lock}], of.holds, answered_in);
        }
        const testing::queue_verdict verdict = testing::check_order(of.claims);
        found.checked += verdict.contested;
        found.excused += before - verdict.inversions.size();
        for (const testing::overtaking& each : verdict.inversions)
            found.add({named(of.holds[each.passed]->grant) + " stood in line before " +
                           named(of.holds[each.by]->grant) + " was asked for, and was granted after it",
                       lock, of.claims[each.passed].in_line, of.claims[each.passed].granted});
    }
    return found;
}

}  // namespace mortise::checker
