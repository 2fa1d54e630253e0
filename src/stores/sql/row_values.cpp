#include "stores/sql/row_values.hpp"

#include <mortise/spi/clock.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace mortise::inline v0::stores::sql {
namespace {

std::int64_t microseconds_of(spi::duration d) {
    return std::chrono::ceil<std::chrono::microseconds>(d).count();
}

value optional_id(const claim_id& id) {
    return id == claim_id{} ? value{} : value{bytes_of(id)};
}

}  // namespace

values enter_values(const row_parts& parts, const row_claim& claim, bool only_if_it_holds) {
    const base::line_entry& entry = claim.entry;
    return {claim.name,
            bytes_of(entry.id),
            parts.session,
            std::int64_t{entry.capacity},
            std::int64_t{entry.weight},
            optional_id(entry.instead_of),
            std::int64_t{only_if_it_holds},
            microseconds_of(claim.lease),
            microseconds_of(claim.grace),
            microseconds_of(claim.trust),
            parts.context.host,
            std::int64_t{parts.context.pid},
            claim.label,
            near_rows};
}

values look_values(const row_parts& parts, const row_claim& claim, std::int64_t most_rows) {
    return {claim.name, bytes_of(claim.entry.id), parts.session, microseconds_of(claim.lease), most_rows};
}

values confirm_values(const row_claim& claim) {
    return {bytes_of(claim.entry.id), microseconds_of(claim.lease)};
}

values move_values(const row_parts& parts, const row_claim& claim, const claim_id& place_of,
                   std::span<const claim_id> guards, const row_line& line) {
    std::string guarded;
    for (const claim_id& id : guards) guarded += bytes_of(id);
    return {claim.name,
            bytes_of(claim.entry.id),
            bytes_of(place_of),
            std::move(guarded),
            static_cast<std::int64_t>(line.floor),
            parts.session,
            microseconds_of(claim.lease)};
}

}  // namespace mortise::inline v0::stores::sql
