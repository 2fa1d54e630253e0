#include "stores/redis/waiting_claims.hpp"

#include <algorithm>
#include <chrono>

namespace mortise::inline v0::stores::redis {
namespace {

// A server's time is compared with ours only so long after it was read.
constexpr std::chrono::seconds time_known_for{10};

// How much slower than ours a server's clock may run.
constexpr double drift = 0.01;

}  // namespace

void waiting_claims::add(const claim_id& id, std::string_view name, unsigned replicas) {
    const auto [it, fresh] = claims_.try_emplace(id);
    it->second.replicas = replicas;
    if (fresh) it->second.name = name;
}

void waiting_claims::note_time(const claim_id& id, spi::time_point sent, server_time now) {
    const auto it = claims_.find(id);
    if (it == claims_.end()) return;
    it->second.sent = sent;
    it->second.server_then = now;
}

void waiting_claims::forget_times() {
    for (auto& [id, claim] : claims_) claim.server_then.reset();
}

auto waiting_claims::judge(const inbox_message& granted, spi::time_point now) const -> pushed_grant {
    const auto it = claims_.find(granted.id);
    if (it == claims_.end()) return {.counted_from = now};
    const waiting_claim& claim = it->second;
    pushed_grant verdict{.replicas = claim.replicas};
    const bool known = claim.server_then && now - claim.sent <= time_known_for && granted.at >= *claim.server_then;
    if (!known || claim.replicas > 0) return verdict;
    // Not from its arrival: it may have been on its way for long.
    const auto since = std::chrono::duration_cast<spi::duration>((granted.at - *claim.server_then) * (1.0 - drift));
    verdict.counted_from = std::min(now, claim.sent + since);
    return verdict;
}

std::map<std::string, std::vector<claim_id>> waiting_claims::by_name() const {
    std::map<std::string, std::vector<claim_id>> names;
    for (const auto& [id, claim] : claims_) names[claim.name].push_back(id);
    return names;
}

}  // namespace mortise::inline v0::stores::redis
