#include "stores/sql/row_claim.hpp"

#include "base/push_grace.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace mortise::inline v0::stores::sql {
namespace {

using verdict = base::line_verdict::verdict;

constexpr std::chrono::seconds usual_lease{30};

// What would be said of the claim if it arrived now, without these.
base::line_verdict verdict_at_the_end(const row_claim& claim, std::vector<base::line_entry> line) {
    base::line_entry last = claim.entry;
    last.arrived = last.written = std::numeric_limits<std::int64_t>::max();
    line.push_back(last);
    return base::judge(line, last.id, 0);
}

}  // namespace

row_claim_ptr row_claim::made_for(const spi::claim_request& wanted) {
    const base::line_entry entry{
        .id = wanted.id, .capacity = wanted.capacity, .weight = wanted.weight, .instead_of = wanted.instead_of};
    auto claim = std::make_shared<row_claim>(rules_of(entry));
    claim->name = wanted.name;
    claim->entry = entry;
    claim->lease = wanted.lease.value_or(usual_lease);
    claim->grace = wanted.renew == renew::on ? std::min<spi::duration>(claim->lease, base::push_grace) : claim->lease;
    claim->trust = wanted.renew == renew::on ? std::min<spi::duration>(claim->lease, push_trust) : claim->lease;
    claim->label = wanted.label;
    claim->detached = wanted.kept_by == kept_by::lease;
    claim->keeps = wanted.keeps_idle;
    return claim;
}

row_claim_ptr row_claim::of_another(std::string_view name, const claim_id& id) {
    const base::line_entry entry{.id = id};
    auto claim = std::make_shared<row_claim>(rules_of(entry));
    claim->machine = base::queued_claim::of_another(rules_of(entry));
    claim->name = name;
    claim->entry = entry;
    claim->detached = true;
    return claim;
}

void row_claim::answer(const spi::claim_answer& reply, deferred_calls& later) {
    for (auto& one : std::exchange(claimers, {}))
        later([done = std::move(one), reply]() mutable { done(std::move(reply)); });
}

void row_claim::answer_release(spi::release_answer reply, deferred_calls& later) {
    for (auto& one : std::exchange(releasers, {})) later([done = std::move(one), reply]() mutable { done(reply); });
}

spi::grant row_claim::grant(std::uint64_t counter) const {
    spi::grant given{.counter = counter, .lease = lease, .counted_from = counted_from, .told = told};
    if (pushed && trust < lease) given.grace = trust;
    return given;
}

base::queued_claim::rules rules_of(const base::line_entry& claim) {
    return {.confirms = true, .replaces = claim.instead_of != claim_id{}, .capacity = claim.capacity};
}

std::optional<base::queued_claim::line_view> view_of(const row_claim& claim, const row_line& line,
                                                     const std::function<bool(const claim_id&)>& leaves) {
    const row_entry* mine = line.find(claim.entry.id);
    base::queued_claim::line_view view{.in_line = mine != nullptr,
                                       .others = line.entries.size() > (mine != nullptr ? 1U : 0U)};
    if (mine != nullptr) {
        const auto judged = line.verdict_of(claim.entry.id);
        if (!judged) return std::nullopt;
        view.verdict = *judged;
        view.took_place = mine->at.place != 0 && mine->at.instead_of != claim_id{};
        view.counter = mine->at.arrived;
    } else {
        view.verdict = verdict_at_the_end(claim, line.shape());
        // The server has looked at the whole line, and kept it out.
        if (view.verdict.is == verdict::holds && line.missing_before) view.verdict.is = verdict::waits;
    }
    view.standing = line.standing_of(view.verdict);
    if (claim.queues || view.verdict.is != verdict::waits || line.missing_before) return view;
    std::vector<base::line_entry> rest = line.shape();
    std::erase_if(rest, [&](const auto& one) { return one.id != claim.entry.id && leaves(one.id); });
    view.only_leavers =
        (mine != nullptr ? base::judge(rest, claim.entry.id, line.floor) : verdict_at_the_end(claim, std::move(rest)))
            .is != verdict::waits;
    return view;
}

}  // namespace mortise::inline v0::stores::sql
