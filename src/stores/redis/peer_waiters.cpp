#include "stores/redis/peer_waiters.hpp"

#include <utility>

namespace mortise::inline v0::stores::redis {

bool peer_waiters::add(peer_claim claim, std::string channel) {
    const claim_id id = claim.id;
    return claims_.try_emplace(id, waiter{.claim = std::move(claim), .channel = std::move(channel)}).second;
}

std::optional<std::string> peer_waiters::remove(const claim_id& id) {
    const auto it = claims_.find(id);
    if (it == claims_.end()) return std::nullopt;
    std::optional<std::string> channel{std::move(it->second.channel)};
    claims_.erase(it);
    return channel;
}

std::vector<peer_claim> peer_waiters::heard(std::string_view channel) {
    std::vector<peer_claim> due;
    for (auto& [id, one] : claims_) {
        if (one.channel != channel) continue;
        if (std::exchange(one.under_way, true))
            one.again = true;
        else
            due.push_back(one.claim);
    }
    return due;
}

std::optional<peer_claim> peer_waiters::answered(const claim_id& id) {
    const auto it = claims_.find(id);
    if (it == claims_.end()) return std::nullopt;
    it->second.under_way = it->second.again;
    if (!std::exchange(it->second.again, false)) return std::nullopt;
    return it->second.claim;
}

}  // namespace mortise::inline v0::stores::redis
