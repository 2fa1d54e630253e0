#include "core/contests.hpp"

#include "core/claim_terms.hpp"
#include "core/cohort.hpp"

namespace mortise::inline v0::core {
namespace {

// For so many times as long as it would be kept.
constexpr int times_not_kept = 20;

}  // namespace

// The lowest bits of the hash have chosen the shard.
std::size_t contests::place_of(const claim_terms& t) const noexcept {
    return t.name_hash / 16 % latest_.size();
}

void contests::note(const claim_terms& t, spi::time_point now) noexcept {
    if (t.keep_ms != 0) latest_[place_of(t)] = {t.name_hash, now + times_not_kept * t.keep_for()};
}

bool contests::would_keep(const cohort& c, spi::time_point now) const noexcept {
    if (c.terms.keep_ms == 0 || c.line.empty() || c.line.front()->waiting->owner == 0) return false;
    if (c.shareable != c.terms.shareable || c.instead_of)
        return false;  // other options than those of its name, or an exchange
    const contest& last = latest_[place_of(c.terms)];
    return last.name_hash != c.terms.name_hash || now >= last.until;
}

}  // namespace mortise::inline v0::core
