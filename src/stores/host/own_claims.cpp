#include "stores/host/own_claims.hpp"

#include <algorithm>
#include <iterator>

namespace mortise::inline v0::stores::host {

bool own_claims::own_claim::taken(const claim_id& id) const noexcept {
    using w = spi::grant_word;
    if (!word) return false;
    const std::uint64_t seen = word->value.load();
    return w::mark_of(seen) != w::mark_of(id) || w::condition_of(seen) == w::gone;
}

bool own_claims::note(const spi::claim_request& wanted, block_number block, bool waits, const spi::grant& given) {
    std::scoped_lock guard{mutex_};
    if (closed_) return false;
    const auto [it, fresh] = all_.try_emplace(wanted.id);
    it->second.wait_slot = wanted.wait_slot;
    it->second.waits = waits;
    it->second.word = given.word;
    if (fresh) it->second.name = wanted.name;
    if (block != 0) it->second.block = block;
    if (waits && wanted.wait_slot != 0) {
        wait_slots_[wanted.wait_slot] = wanted.id;
    } else if (!waits) {
        wait_slots_.erase(wanted.wait_slot);
    }
    return true;
}

bool own_claims::stops_waiting(const claim_id& id, const spi::grant& given) {
    std::scoped_lock guard{mutex_};
    const auto it = all_.find(id);
    if (it == all_.end() || !std::exchange(it->second.waits, false)) return false;
    it->second.word = given.word;
    if (const auto at = wait_slots_.find(it->second.wait_slot); at != wait_slots_.end() && at->second == id)
        wait_slots_.erase(at);
    return true;
}

auto own_claims::find(const claim_id& id) -> std::optional<own_claim> {
    std::scoped_lock guard{mutex_};
    const auto it = all_.find(id);
    return it == all_.end() ? std::nullopt : std::optional{it->second};
}

block_number own_claims::block_of(const claim_id& id) {
    std::scoped_lock guard{mutex_};
    const auto it = all_.find(id);
    return it == all_.end() ? 0 : it->second.block;
}

auto own_claims::forget(const claim_id& id) -> std::optional<own_claim> {
    std::scoped_lock guard{mutex_};
    const auto it = all_.find(id);
    if (it == all_.end()) return std::nullopt;
    own_claim was = std::move(it->second);
    all_.erase(it);
    if (const auto at = wait_slots_.find(was.wait_slot); was.waits && at != wait_slots_.end() && at->second == id)
        wait_slots_.erase(at);
    return was;
}

auto own_claims::all() -> found {
    std::scoped_lock guard{mutex_};
    return {all_.begin(), all_.end()};
}

auto own_claims::waiting() -> found {
    found some;
    std::scoped_lock guard{mutex_};
    std::ranges::copy_if(all_, std::back_inserter(some), [](const auto& one) { return one.second.waits; });
    return some;
}

auto own_claims::at_wait_slot(std::uint32_t wait_slot) -> found {
    std::scoped_lock guard{mutex_};
    const auto at = wait_slots_.find(wait_slot);
    const auto it = at == wait_slots_.end() ? all_.end() : all_.find(at->second);
    return it == all_.end() ? found{} : found{*it};
}

auto own_claims::taken() -> found {
    found some;
    std::scoped_lock guard{mutex_};
    if (all_.size() < search_at_) return some;
    std::ranges::copy_if(all_, std::back_inserter(some), [](const auto& one) { return one.second.taken(one.first); });
    search_at_ = few + 2 * (all_.size() - some.size());
    return some;
}

void own_claims::repeat_later(failed_release which) {
    std::scoped_lock guard{mutex_};
    to_repeat_.push_back(std::move(which));
}

auto own_claims::next_to_repeat() -> std::optional<failed_release> {
    std::scoped_lock guard{mutex_};
    if (to_repeat_.empty()) return std::nullopt;
    failed_release next = std::move(to_repeat_.back());
    to_repeat_.pop_back();
    return next;
}

bool own_claims::none() {
    std::scoped_lock guard{mutex_};
    return all_.empty();
}

void own_claims::close() noexcept {
    std::scoped_lock guard{mutex_};
    closed_ = true;
}

}  // namespace mortise::inline v0::stores::host
