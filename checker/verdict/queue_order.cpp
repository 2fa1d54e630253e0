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

// Where it was in line, and where it lost that place, if it did.
struct lost_place {
    std::int64_t from = 0;
    std::int64_t to = 0;
};

std::optional<lost_place> last_lost(const operation& grant, const places& noted) {
    const auto end = std::ranges::upper_bound(noted.lost, grant.ended);
    if (end == noted.lost.begin() || *std::prev(end) < grant.invoked) return std::nullopt;
    return lost_place{in_line_since(grant, grant.invoked, noted), *std::prev(end)};
}

// Whether nobody held the lock for so long: it had been granted to somebody who did not answer. By the time of their grants.
bool lay_idle(const std::vector<const hold_span*>& holds, const lost_place& within, std::int64_t for_so_long) {
    std::int64_t free_since = within.from;
    for (const hold_span* one : holds) {
        const std::int64_t until = std::min(one->grant.ended, within.to);
        if (until - free_since >= for_so_long) return true;
        free_since = std::max(free_since, one->left != never ? one->left : one->valid_to);
    }
    return within.to - free_since >= for_so_long;
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
        for (std::size_t i = 0; i < of.holds.size(); ++i) {
            const operation& grant = of.holds[i]->grant;
            const places& own = noted[{grant.pid, grant.lock}];
            const auto lost = last_lost(grant, own);
            if (!lost || !lay_idle(of.holds, *lost, answered_in)) continue;
            of.claims[i].in_line = in_line_since(grant, lost->to, own);
            ++found.excused;
        }
        const testing::queue_verdict verdict = testing::check_order(of.claims);
        found.checked += verdict.contested;
        for (const testing::overtaking& each : verdict.inversions)
            found.add({named(of.holds[each.passed]->grant) + " stood in line before " +
                           named(of.holds[each.by]->grant) + " was asked for, and was granted after it",
                       lock, of.claims[each.passed].in_line, of.claims[each.passed].granted});
    }
    return found;
}

}  // namespace mortise::checker
