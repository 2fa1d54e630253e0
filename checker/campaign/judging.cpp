#include "checker/campaign/judging.hpp"

#include "checker/verdict/exclusion.hpp"
#include "checker/verdict/fence.hpp"
#include "checker/verdict/linearizable.hpp"
#include "checker/verdict/liveness.hpp"
#include "checker/verdict/order.hpp"
#include "checker/verdict/queue_order.hpp"
#include "checker/verdict/truth.hpp"

#include <algorithm>
#include <initializer_list>
#include <map>

namespace mortise::checker {
namespace {

// When faults of these kinds began, and when they had happened: the store forgot somewhere in between.
std::vector<std::int64_t> moments_of(const std::vector<bool>& kinds, const evidence& seen,
                                     std::initializer_list<act> when) {
    std::vector<std::int64_t> found;
    for (const record& one : seen.all.records)
        if (std::find(when.begin(), when.end(), one.what) != when.end() && one.value >= 1 &&
            one.value <= kinds.size() && kinds[one.value - 1])
            found.push_back(one.at);
    return found;
}

// From the beginning of each to when it had happened. On a busy machine that takes a while: a server that evicts does so at each of the
// commands that make it.
std::vector<excuses::spell> spells_of(const std::vector<bool>& kinds, const evidence& seen) {
    std::map<std::uint64_t, std::int64_t> begun;
    std::vector<excuses::spell> found;
    for (const record& one : seen.all.records) {
        if (one.what != act::fault || one.value < 1 || one.value > kinds.size() || !kinds[one.value - 1]) continue;
        if (one.is == phase::invoke)
            begun[one.op] = one.at;
        else if (const auto it = begun.find(one.op); it != begun.end())
            found.push_back({it->second, one.at});
    }
    return found;
}

excuses excuses_in(const evidence& seen) {
    // What a server is made of may outlive its first process, answer a release, and end without having kept it.
    return {.moments = moments_of(seen.forgetting, seen, {act::fault}),
            .releases = moments_of(seen.forgetting_releases, seen, {act::fault, act::heal}),
            .spells = spells_of(seen.forgetting, seen)};
}

void tally(const evidence& seen, campaign_result& result) {
    for (const std::string& name : seen.troubles) result.troubles[name];
    std::map<std::uint64_t, std::size_t> witnessed;
    for (const record& one : seen.all.records) {
        if (one.what == act::fault && one.value >= clock_was_seen_to_jump) ++witnessed[one.value];
        if (one.value < 1 || one.value > seen.troubles.size()) continue;
        trouble_tally& of = result.troubles[seen.troubles[one.value - 1]];
        if (one.what == act::fault && one.is == phase::invoke) ++of.struck;
        if (one.what == act::heal && one.is == phase::ok) ++of.bit;
    }
    for (const auto& [name, seen_as] :
         {std::pair{clock_trouble, clock_was_seen_to_jump}, std::pair{fork_trouble, children_were_made}}) {
        const auto of = result.troubles.find(std::string(name));
        if (of != result.troubles.end()) of->second.bit = std::min(of->second.bit, witnessed[seen_as]);
    }
}

std::vector<hold_span> those_of(const std::vector<hold_span>& holds, const auto& wanted) {
    std::vector<hold_span> some;
    std::copy_if(holds.begin(), holds.end(), std::back_inserter(some),
                 [&](const hold_span& one) { return wanted(one.grant); });
    return some;
}

void linearizability(const std::vector<hold_span>& holds, const evidence& seen, const excuses& excused,
                     campaign_result& result) {
    const std::uint32_t mutexes = seen.mutexes;
    const auto check = [&](lock_model model, const auto& wanted) {
        const auto some = those_of(holds, wanted);
        if (!some.empty()) result.judgements.push_back(linearizable(some, model, excused));
    };
    check(seen.tokens ? lock_model::fenced : lock_model::mutex,
          [&](const operation& one) { return one.lock < mutexes; });
    check(seen.tokens ? lock_model::read_write : lock_model::semaphore,
          [&](const operation& one) { return one.lock == mutexes; });
    check(lock_model::semaphore, [&](const operation& one) { return one.lock > mutexes; });
}

void count(const std::vector<hold_span>& holds, const evidence& seen, campaign_result& result) {
    result.grants = holds.size();
    for (const hold_span& one : holds) result.lost += one.end == phase::lost;
    for (const operation& one : result.operations) result.unknown += one.is == phase::unknown;
    const lost_updates updates = count_lost_updates(seen.applied);
    result.writes = updates.writes;
    result.lost_updates = updates.lost;
}

void decide(const evidence& seen, campaign_result& result) {
    const auto is_void = [&](std::string why) { result.reasons.push_back("void: " + std::move(why)); };
    if (seen.all.full) is_void("a log was full, and records are missing");
    for (const auto& [name, of] : result.troubles)
        if (of.bit == 0) is_void("the fault \"" + name + "\" never bit");
    for (const judgement& one : result.judgements) {
        if (one.checked == 0) is_void(one.checker + " had nothing to look at");
        if (one.undecided != 0)
            is_void(one.checker + " could not decide about " + std::to_string(one.undecided) + " locks");
    }
    const bool sound = std::all_of(result.judgements.begin(), result.judgements.end(),
                                   [](const judgement& one) { return one.sound(); });
    if (!sound)
        result.is = outcome::violated;
    else
        result.is = result.reasons.empty() ? outcome::sound : outcome::is_void;
}

}  // namespace

std::size_t campaign_result::bites() const {
    std::size_t sum = 0;
    for (const auto& [name, of] : troubles) sum += of.bit;
    return sum;
}

void judge(evidence seen, campaign_result& result) {
    const excuses excused = excuses_in(seen);
    result.operations = operations_of(seen.all);
    const auto holds = holds_of(seen.all, result.operations);
    tally(seen, result);
    count(holds, seen, result);
    result.judgements.push_back(timed_exclusion(holds, excused));
    if (seen.tokens) result.judgements.push_back(grant_order(holds, excused));
    if (!seen.sealing)
        result.judgements.push_back(updates_without_seals(seen.applied));
    else if (seen.tokens)
        result.judgements.push_back(fenced_register(seen.applied, result.operations));
    if (!seen.tokens) result.not_judged.push_back("the order of tokens and seals: the store gives no tokens");
    if (!seen.lists) result.not_judged.push_back("what it lists: the store cannot say who holds what");
    if (seen.keeps) result.not_judged.push_back("what it lists: a lock that is kept is listed while nobody is inside");
    if (seen.in_order) result.judgements.push_back(queue_order(seen.all, holds, seen.answered_in));
    linearizability(holds, seen, excused, result);
    if (seen.reached)
        result.judgements.push_back(liveness(seen.all, result.operations, seen.bound));
    else
        result.not_judged.push_back("C5 liveness: the store could not be used at the end");
    if (seen.lists && !seen.keeps)
        result.judgements.push_back(no_lies(seen.all, result.operations, holds, excused, seen.bound));
    decide(seen, result);
    result.trouble_names = std::move(seen.troubles);
    result.all = std::move(seen.all);
}

}  // namespace mortise::checker
