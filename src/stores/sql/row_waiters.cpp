#include "stores/sql/row_waiters.hpp"

#include <algorithm>
#include <cstddef>

namespace mortise::inline v0::stores::sql {
namespace {

constexpr std::size_t near_the_front = 8;
constexpr std::size_t watched_of_a_name = 4;

}  // namespace

void row_waiters::add(const row_claim& claim) {
    line& of = names_[claim.name];
    if (claim.entry.instead_of == claim_id{})
        of.waiting.insert_or_assign(claim.stands, claim.entry.id);
    else if (std::ranges::find(of.swaps, claim.entry.id) == of.swaps.end())
        of.swaps.push_back(claim.entry.id);
}

void row_waiters::remove(const row_claim& claim) {
    const auto found = names_.find(claim.name);
    if (found == names_.end()) return;
    line& of = found->second;
    std::erase(of.swaps, claim.entry.id);
    if (const auto it = of.waiting.find(claim.stands); it != of.waiting.end() && it->second == claim.entry.id)
        of.waiting.erase(it);
    if (of.waiting.empty() && of.swaps.empty()) names_.erase(found);
}

std::vector<claim_id> row_waiters::firsts() const {
    std::vector<claim_id> all;
    for (const auto& [name, of] : names_) {
        if (!of.waiting.empty()) all.push_back(of.waiting.begin()->second);
        all.insert(all.end(), of.swaps.begin(), of.swaps.end());
    }
    return all;
}

std::optional<claim_id> row_waiters::first(const std::string& name) const {
    const auto found = names_.find(name);
    const bool some = found != names_.end() && !found->second.waiting.empty();
    return some ? std::optional{found->second.waiting.begin()->second} : std::nullopt;
}

std::vector<claim_id> row_waiters::nearest(const std::string& name) const {
    const auto found = names_.find(name);
    if (found == names_.end()) return {};
    std::vector<claim_id> all = found->second.swaps;
    const auto& waiting = found->second.waiting;
    std::size_t left = watched_of_a_name;
    for (auto it = waiting.begin(); it != waiting.end() && left > 0; ++it, --left) all.push_back(it->second);
    return all;
}

bool row_waiters::is_near(const row_claim& claim) const {
    const auto some = nearest(claim.name);
    return std::ranges::find(some, claim.entry.id) != some.end();
}

void row_waiters::found_waiting(const row_claim& first, spi::time_point sent) {
    const auto found = names_.find(first.name);
    if (found == names_.end() || first.entry.instead_of != claim_id{}) return;
    found->second.first = first.stands;
    found->second.ungranted = sent;
}

spi::time_point row_waiters::ungranted_at(const row_claim& claim) const {
    const auto found = names_.find(claim.name);
    const bool behind = found != names_.end() && found->second.first <= claim.stands;
    return behind ? std::max(claim.ungranted, found->second.ungranted) : claim.ungranted;
}

bool row_waiters::far_back(const row_claim& claim) const {
    const auto found = names_.find(claim.name);
    if (found == names_.end() || found->second.waiting.size() <= near_the_front) return false;
    auto last = found->second.waiting.begin();
    std::advance(last, near_the_front);
    return last->first <= claim.stands;
}

}  // namespace mortise::inline v0::stores::sql
