#include "checker/verdict/truth.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

namespace mortise::checker {
namespace {

constexpr unsigned turn_bits = 10;

std::uint64_t counter_of(std::uint64_t token) {
    return token >> turn_bits;
}

struct look {
    operation asked{};
    std::map<std::uint32_t, std::set<std::uint64_t>> holders{};  // by lock, their counters
};

std::vector<look> looks_of(const history& all, const std::vector<operation>& operations) {
    std::map<std::pair<std::uint32_t, std::uint64_t>, std::size_t> places;
    std::vector<look> found;
    for (const operation& one : operations) {
        if (one.what != act::truth || one.is != phase::ok) continue;
        places[{one.pid, one.op}] = found.size();
        found.push_back({one});
    }
    for (const record& one : all.records) {
        if (one.what != act::holder) continue;
        if (const auto at = places.find({one.pid, one.op}); at != places.end())
            found[at->second].holders[one.lock].insert(counter_of(one.token));
    }
    return found;
}

// What is known of one lock.
struct known {
    std::unordered_map<std::uint64_t, std::vector<const hold_span*>> grants{};  // by counter
    std::vector<const operation*>
        asked{};  // whatever came of it: one may have been granted, lost it, and been granted again
};

class comparison {
public:
    comparison(const std::vector<operation>& operations, const std::vector<hold_span>& holds, const excuses& excused,
               std::int64_t lingers, judgement& found)
        : holds_(holds), excused_(excused), lingers_(lingers), found_(found) {
        for (const hold_span& one : holds) locks_[one.grant.lock].grants[counter_of(one.grant.token)].push_back(&one);
        for (const operation& one : operations)
            if (one.what == act::acquire) locks_[one.lock].asked.push_back(&one);
    }

    // In the order of time.
    void see(const look& now) {
        for (; next_ < holds_.size() && holds_[next_].grant.ended <= now.asked.invoked; ++next_)
            valid_.emplace(holds_[next_].valid_to, &holds_[next_]);
        while (!valid_.empty() && valid_.begin()->first < now.asked.ended) valid_.erase(valid_.begin());
        for (const auto& [until, one] : valid_) is_listed(*one, now);
        found_.checked += valid_.size();
        for (const auto& [lock, counters] : now.holders) {
            for (const std::uint64_t counter : counters) was_granted(lock, counter, now);
            found_.checked += counters.size();
        }
    }

private:
    void is_listed(const hold_span& one, const look& now) {
        const auto at = now.holders.find(one.grant.lock);
        if (at != now.holders.end() && (at->second.contains(counter_of(one.grant.token)) || at->second.contains(0)))
            return;
        if (excused_.between(one.grant.invoked, now.asked.ended)) {
            ++found_.excused;
            return;
        }
        found_.add({named(one.grant) + " was valid, and the store did not know of it" + whom_it_named(at, now),
                    one.grant.lock, now.asked.invoked, now.asked.ended});
    }

    static std::string whom_it_named(decltype(look::holders)::const_iterator at, const look& now) {
        std::string counters;
        if (at != now.holders.end())
            for (const std::uint64_t one : at->second) counters += " " + std::to_string(one);
        return counters.empty() ? ", nor of anybody else" : ", but named the holder of counter" + counters;
    }

    void was_granted(std::uint32_t lock, std::uint64_t counter, const look& now) {
        if (counter == 0) return;  // a store that does not tell
        const known& of = locks_[lock];
        const auto at = of.grants.find(counter);
        if (at == of.grants.end()) {
            const bool perhaps = std::any_of(of.asked.begin(), of.asked.end(), [&](const operation* one) {
                return one->invoked <= now.asked.ended &&
                       (one->is == phase::unknown || one->answered >= now.asked.invoked);
            });
            const bool repeated = std::any_of(of.asked.begin(), of.asked.end(), [&](const operation* one) {
                return one->invoked <= now.asked.ended && now.asked.invoked - one->answered <= lingers_ &&
                       excused_.between(one->invoked, now.asked.ended);
            });
            if (!perhaps && repeated)
                ++found_.excused;
            else if (!perhaps)
                found_.add({"the store has a holder with counter " + std::to_string(counter) + " whom nobody knows",
                            lock, now.asked.invoked, now.asked.ended});
            return;
        }
        const bool all_gone = std::all_of(at->second.begin(), at->second.end(), [&](const hold_span* one) {
            return one->end == phase::ok && one->gone < now.asked.invoked;
        });
        if (!all_gone) return;
        const bool forgot = std::any_of(at->second.begin(), at->second.end(), [&](const hold_span* one) {
            return excused_.between(one->grant.invoked, now.asked.ended) ||
                   (now.asked.invoked - one->gone <= lingers_ && excused_.of_a_release(one->left, now.asked.ended));
        });
        if (forgot)
            ++found_.excused;  // it went back to what it had known
        else
            found_.add({named(at->second.front()->grant) + " had released it, and the store still has it as a holder",
                        lock, now.asked.invoked, now.asked.ended});
    }

    const std::vector<hold_span>& holds_;  // by the time of the grant
    const excuses& excused_;
    const std::int64_t lingers_;
    judgement& found_;
    std::map<std::uint32_t, known> locks_;
    std::size_t next_ = 0;
    std::multimap<std::int64_t, const hold_span*> valid_;  // by how long
};

}  // namespace

judgement no_lies(const history& all, const std::vector<operation>& operations, const std::vector<hold_span>& holds,
                  const excuses& excused, std::int64_t lingers) {
    judgement found{.checker = "C6 no lies"};
    comparison with{operations, holds, excused, lingers, found};
    for (const look& one : looks_of(all, operations)) with.see(one);
    return found;
}

}  // namespace mortise::checker
