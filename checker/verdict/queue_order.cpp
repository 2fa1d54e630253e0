#include "checker/verdict/queue_order.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace mortise::checker {
namespace {

struct place {
    const operation* grant = nullptr;
    std::int64_t in_line = 0;
};

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

// How many of them waited while somebody came who certainly was later.
std::size_t contested(const std::vector<place>& places) {
    std::vector<std::int64_t> arrivals;
    for (const place& one : places) arrivals.push_back(one.grant->invoked);
    std::sort(arrivals.begin(), arrivals.end());
    return static_cast<std::size_t>(std::count_if(places.begin(), places.end(), [&](const place& one) {
        const auto next = std::upper_bound(arrivals.begin(), arrivals.end(), one.in_line);
        return next != arrivals.end() && *next < one.grant->ended;
    }));
}

}  // namespace

judgement queue_order(const history& all, const std::vector<hold_span>& holds) {
    judgement found{.checker = "C7 order of arrival"};
    const moments queued = queued_in(all);
    std::map<std::uint32_t, std::vector<place>> locks;
    for (const hold_span& one : holds)
        if (one.grant.capacity == 1) locks[one.grant.lock].push_back({&one.grant, in_line(one.grant, queued)});
    for (auto& [lock, places] : locks) {
        found.checked += contested(places);
        std::sort(places.begin(), places.end(),
                  [](const place& a, const place& b) { return a.grant->token < b.grant->token; });
        const operation* last = nullptr;  // to arrive, of those who were granted so far
        for (const place& one : places) {
            if (last != nullptr && last->invoked > one.in_line)
                found.add({named(*one.grant) + " stood in line before " + named(*last) +
                               " was asked for, and was granted after it",
                           lock, one.in_line, one.grant->ended});
            if (last == nullptr || last->invoked < one.grant->invoked) last = one.grant;
        }
    }
    return found;
}

}  // namespace mortise::checker
