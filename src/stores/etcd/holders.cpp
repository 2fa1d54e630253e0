#include "stores/etcd/holders.hpp"

#include <algorithm>

namespace mortise::inline v0::stores::etcd {

mortise::holder holder_of(const stored_claim& claim) {
    return {.host = claim.host, .pid = claim.pid, .label = claim.label, .token = token::of(claim.at.counter(), 0)};
}

spi::standing standing_of(const line_snapshot& found, const base::line_verdict& judged) {
    spi::standing now;
    if (judged.place > 0) now.place = judged.place;
    const auto note = [&](const stored_claim& one) {
        if (judged.holder && one.at.id == *judged.holder) now.holder = holder_of(one);
    };
    std::ranges::for_each(found.entries, note);
    if (found.first) note(*found.first);
    return now;
}

}  // namespace mortise::inline v0::stores::etcd
