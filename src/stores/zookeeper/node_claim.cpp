#include "stores/zookeeper/node_claim.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <utility>

namespace mortise::inline v0::stores::zookeeper {
namespace {

spi::claim_answer too_many_epochs() {
    return {.is = spi::claim_answer::verdict::refused,
            .reason = errc::exhausted,
            .detail = "the leader's epoch is over 4,194,303, too large for tokens"};
}

// What would be said of the claim if its node were created now.
base::line_verdict verdict_at_the_end(const base::line_entry& claim, const line_listing& line) {
    std::vector<base::line_entry> entries = entries_of(line.nodes);
    base::line_entry last = claim;
    for (const base::line_entry& one : entries) last.arrived = std::max(last.arrived, one.arrived);
    ++last.arrived;
    entries.push_back(last);
    return base::judge(entries, claim.id);
}

// Whether it would not have to wait but for claims of this client that are leaving.
bool waits_for_leavers_only(const base::line_entry& claim, const line_listing& line,
                            const std::function<bool(const claim_id&)>& leaves) {
    line_listing rest;
    for (const node_name& one : line.nodes)
        if (!leaves(one.entry.id)) rest.nodes.push_back(one);
    if (rest.nodes.size() == line.nodes.size()) return false;
    const bool in_line = line.find(claim.id) != nullptr;
    const base::line_verdict verdict =
        in_line ? base::judge(entries_of(rest.nodes), claim.id) : verdict_at_the_end(claim, rest);
    return verdict.is != base::line_verdict::verdict::waits;
}

}  // namespace

void node_claim::answer(const spi::claim_answer& reply, deferred_calls& later) {
    for (auto& one : std::exchange(claimers, {}))
        later([done = std::move(one), reply]() mutable { done(std::move(reply)); });
}

void node_claim::answer_release(spi::release_answer reply, deferred_calls& later) {
    for (auto& one : std::exchange(releasers, {})) later([done = std::move(one), reply]() mutable { done(reply); });
}

base::queued_claim::rules rules_of(const base::line_entry& claim) {
    return {.ordered = true,
            .looks_first = true,
            .describes = true,
            .replaces = claim.instead_of != claim_id{},
            .capacity = claim.capacity};
}

base::queued_claim::line_view view_of(const node_claim& claim, const line_listing& line,
                                      const std::function<bool(const claim_id&)>& leaves) {
    const node_name* mine = line.find(claim.entry.id);
    base::queued_claim::line_view view{.in_line = mine != nullptr,
                                       .others = line.nodes.size() > (mine != nullptr ? 1u : 0u),
                                       .counter = claim.counter};
    if (mine != nullptr) {
        view.verdict = line.verdicts.of(claim.entry.id);
        view.verdict.to_be_stamped = line.exchanged_since(claim.counter);
        view.took_place = mine->entry.place != 0;
        if (claim.counter > largest_counter) view.refusal = too_many_epochs();
    } else if (!claim.queues && !claim.machine.leaves()) {
        view.verdict = verdict_at_the_end(claim.entry, line);
    }
    view.only_leavers = !claim.queues && view.verdict.is == base::line_verdict::verdict::waits &&
                        waits_for_leavers_only(claim.entry, line, leaves);
    return view;
}

}  // namespace mortise::inline v0::stores::zookeeper
