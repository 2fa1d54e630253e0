#include "checker/verdict/order.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace mortise::checker {
namespace {

using grants = std::vector<const hold_span*>;

void tokens_differ(grants& of_lock, judgement& found) {
    std::sort(of_lock.begin(), of_lock.end(), [](const auto* a, const auto* b) {
        return std::pair{a->grant.token, a->grant.weight} < std::pair{b->grant.token, b->grant.weight};
    });
    for (std::size_t i = 1; i < of_lock.size(); ++i) {
        const operation& one = of_lock[i - 1]->grant;
        const operation& two = of_lock[i]->grant;
        if (one.token != two.token || !one.excludes(two)) continue;
        found.add({named(one) + " and process " + std::to_string(two.pid) + " were granted with the same token",
                   one.lock, std::min(one.ended, two.ended), std::max(one.ended, two.ended)});
    }
}

void tokens_rise(grants& of_lock, const excuses& excused, judgement& found) {
    grants by_answer = of_lock;
    const auto answered = [](const auto* a, const auto* b) { return a->grant.ended < b->grant.ended; };
    const auto asked = [](const auto* a, const auto* b) { return a->grant.invoked < b->grant.invoked; };
    std::sort(by_answer.begin(), by_answer.end(), answered);
    std::sort(of_lock.begin(), of_lock.end(), asked);
    std::map<std::uint8_t, const hold_span*> highest;  // by weight, of those answered so far
    auto next = by_answer.begin();
    for (const hold_span* later : of_lock) {
        for (; next != by_answer.end() && (*next)->grant.ended < later->grant.invoked; ++next) {
            const hold_span*& top = highest[(*next)->grant.weight];
            if (top == nullptr || top->grant.token < (*next)->grant.token) top = *next;
        }
        for (const auto& [weight, earlier] : highest) {
            if (!earlier->grant.excludes(later->grant) || earlier->grant.token < later->grant.token) continue;
            if (earlier->grant.token == later->grant.token) continue;  // said once, by tokens_differ
            if (later->taken_without_store() && excused.between(later->since, later->grant.ended)) {
                ++found.excused;
                continue;
            }
            found.add({named(later->grant) + " was asked for after " + named(earlier->grant) + " was granted",
                       later->grant.lock, earlier->grant.ended, later->grant.ended});
        }
    }
}

}  // namespace

judgement grant_order(const std::vector<hold_span>& holds, const excuses& excused) {
    judgement found{.checker = "C2 grant order", .checked = holds.size()};
    std::map<std::uint32_t, grants> locks;
    for (const hold_span& one : holds) {
        locks[one.grant.lock].push_back(&one);
        for (const operation& again : one.reentries) {
            ++found.checked;
            if (again.token != one.grant.token)
                found.add({named(one.grant) + " entered again and was given token " + std::to_string(again.token),
                           one.grant.lock, one.grant.ended, again.ended});
        }
    }
    for (auto& [lock, of_lock] : locks) {
        tokens_differ(of_lock, found);
        tokens_rise(of_lock, excused, found);
    }
    return found;
}

}  // namespace mortise::checker
