#include "stores/etcd/line_view.hpp"

#include "stores/etcd/answers.hpp"
#include "stores/etcd/holders.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace mortise::inline v0::stores::etcd {
namespace {

using line_view = base::queued_claim::line_view;
using verdict = base::line_verdict::verdict;

// So many are seen at a glance.
constexpr std::size_t a_few = 16;

line_view view_from_inside(claim_table& table, const record& claim, const line_snapshot& found, const stored_claim& own,
                           std::optional<base::line_verdict> judged, const claim_table::lock& held) {
    line_view view;
    view.in_line = true;
    view.others = found.entries.size() > 1;
    if (!judged) judged = found.judge(claim->line_id);
    if (judged) view.verdict = *std::move(judged);
    view.took_place = own.at.place != 0;
    view.counter = own.at.counter();
    view.standing = standing_of(found, view.verdict);
    claim->seen_at = found.revision;
    claim->arrived = own.at.arrived;
    claim->mine.at.place = own.at.place;
    claim->mine.at.stamped = own.at.stamped;
    claim->few_wait = found.entries.size() <= a_few && !found.missing_before;
    if (found.floor != 0) table.note_floor(claim->name, held);
    if (!claim->on || claim->on->id != own.lease)  // on an earlier one, of which we do not know how long it lasts
        view.refusal = not_known("its lease has ended");
    else if (view.verdict.is == verdict::waits) {
        table.note_neighbours(claim, found, view.verdict, view.standing, held);
        if (!view.standing.holder && found.missing_before) view.standing.holder = claim->standing.holder;
    }
    return view;
}

// Would it hold at the end of this line?
line_view view_from_outside(claim_table& table, const record& claim, const line_snapshot& found,
                            const claim_table::lock& held) {
    line_view view;
    view.others = !found.entries.empty();
    base::line_entry mine = claim->mine.at;
    mine.arrived = mine.written = std::numeric_limits<std::int64_t>::max();
    mine.place = 0;  // it has nobody's place any more
    mine.stamped = false;
    std::vector<base::line_entry> shape = found.shape();
    shape.push_back(mine);
    view.verdict = base::judge(shape, mine.id, 0);
    view.standing = standing_of(found, view.verdict);
    std::erase_if(shape, [&](const base::line_entry& one) {
        return one.id != mine.id && table.leaves(claim->name, one.id, held);
    });
    view.only_leavers = view.verdict.is == verdict::waits && base::judge(shape, mine.id, 0).is == verdict::holds;
    return view;
}

}  // namespace

line_view view_of(claim_table& table, const record& claim, const line_snapshot& found,
                  std::optional<base::line_verdict> judged, const claim_table::lock& held) {
    claim->line_read_at = found.revision;
    const stored_claim* own = found.find(claim->line_id);
    return own != nullptr ? view_from_inside(table, claim, found, *own, std::move(judged), held)
                          : view_from_outside(table, claim, found, held);
}

line_view view_behind(claim_table& table, const record& claim, const line_snapshot& near, const stored_claim& last,
                      const claim_table::lock& held) {
    line_view view;
    view.in_line = view.others = true;
    view.verdict.is = verdict::waits;
    view.verdict.watch = {last.at.id};
    view.counter = claim->arrived;
    claim->seen_at = near.revision;
    claim->few_wait = false;
    table.note_neighbours(claim, near, view.verdict, {}, held);
    view.standing = claim->standing;
    return view;
}

}  // namespace mortise::inline v0::stores::etcd
