#include "stores/redis/late_claims.hpp"

#include "base/ended_claims.hpp"

#include <algorithm>
#include <utility>

namespace mortise::inline v0::stores::redis {

void late_claims::add(std::string key, const claim_id& id, spi::time_point now) {
    if (claims_.size() == most)
        claims_.erase(std::min_element(claims_.begin(), claims_.end(),
                                       [](const auto& a, const auto& b) { return a.second.until < b.second.until; }));
    claims_.emplace(now + first_pause,
                    state{{std::move(key), id}, now + base::ended_claim::remembered_for, first_pause});
}

bool late_claims::came(const claim_id& id) {
    return std::erase_if(claims_, [&](const auto& one) { return one.second.claim.id == id; }) > 0;
}

std::vector<late_claims::late_claim> late_claims::due(spi::time_point now) {
    std::vector<late_claim> all;
    while (!claims_.empty() && claims_.begin()->first <= now) {
        state one = std::move(claims_.begin()->second);
        claims_.erase(claims_.begin());
        all.push_back(one.claim);
        if (now >= one.until) continue;
        one.pause = std::min(2 * one.pause, longest_pause);
        claims_.emplace(std::min(now + one.pause, one.until), std::move(one));
    }
    return all;
}

std::optional<spi::time_point> late_claims::next() const {
    return claims_.empty() ? std::nullopt : std::optional{claims_.begin()->first};
}

}  // namespace mortise::inline v0::stores::redis
