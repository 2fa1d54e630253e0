#include "checker/verdict/exclusion.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace mortise::checker {
namespace {

// Who is inside one lock, as time goes on.
class room {
public:
    // Somebody enters: everybody whom it may not meet, and who has not left by then.
    template <class Met>
    void enter(const hold_span& one, Met met) {
        const std::int64_t now = one.grant.ended;
        while (!inside_.empty() && inside_.begin()->first <= now) leave();
        if (weight_ + one.grant.weight > one.grant.capacity)
            for (const auto& [until, other] : inside_) met(*other);
        inside_.emplace(one.valid_to, &one);
        weight_ += one.grant.weight;
    }

private:
    void leave() {
        weight_ -= inside_.begin()->second->grant.weight;
        inside_.erase(inside_.begin());
    }

    std::multimap<std::int64_t, const hold_span*> inside_;  // by when they leave
    unsigned weight_ = 0;
};

}  // namespace

judgement timed_exclusion(const std::vector<hold_span>& holds, const excuses& excused) {
    judgement found{.checker = "C1 timed exclusion", .checked = holds.size()};
    std::map<std::uint32_t, room> rooms;
    for (const hold_span& one : holds) {
        rooms[one.grant.lock].enter(one, [&](const hold_span& other) {
            const std::int64_t until = std::min(one.valid_to, other.valid_to);
            if (until <= one.grant.ended) return;  // ends as the other begins
            if (excused.between(std::min(other.since, one.since), one.grant.ended)) {
                ++found.excused;
                return;
            }
            found.add({named(other.grant) + " and " + named(one.grant) + " were both valid for " +
                           std::to_string((until - one.grant.ended) / 1000) + " us",
                       one.grant.lock, other.grant.ended, until});
        });
    }
    return found;
}

}  // namespace mortise::checker
