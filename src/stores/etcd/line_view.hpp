// What a line that was read means for a claim: the view on which its machine decides.
#pragma once

#include "base/queued_claim.hpp"
#include "stores/etcd/claim_table.hpp"
#include "stores/etcd/requests.hpp"

#include <mortise/config.hpp>

#include <optional>

namespace mortise::inline v0::stores::etcd {

// Of a claim in the line, or of one that would arrive at its end. What the claim's record keeps of the line is noted.
// `judged`: what found.judge() said of it, if that was asked already.
base::queued_claim::line_view view_of(claim_table& table, const record& claim, const line_snapshot& found,
                                      std::optional<base::line_verdict> judged, const claim_table::lock& held);

// Of a claim that has entered a long line behind `last`, which waits; the line itself was not read.
base::queued_claim::line_view view_behind(claim_table& table, const record& claim, const line_snapshot& near,
                                          const stored_claim& last, const claim_table::lock& held);

}  // namespace mortise::inline v0::stores::etcd
