#include "stores/etcd/claim_table.hpp"

#include "base/spare_blocks.hpp"

#include <chrono>
#include <functional>

namespace mortise::inline v0::stores::etcd {
namespace {

using phase = base::queued_claim::phase;

// So many can be read whole, whenever anybody asks.
constexpr std::size_t a_short_line = 32;

// Ended claims are remembered by name and id, because an id that was released under a wrong name has not ended under its
// own. base::ended_claims knows only ids, and these are random: to mix the name in keeps them apart.
claim_id id_under(std::string_view name, const claim_id& id) {
    return {{id.bits[0] ^ std::hash<std::string_view>{}(name), id.bits[1]}};
}

bool waits(const claim_record& claim) {
    return claim.machine.is() == phase::waiting || claim.machine.is() == phase::reading;
}

bool admits_no_other(const base::line_entry& at) {
    return at.weight == at.capacity && !at.to_be_exchanged();
}

}  // namespace

// The least number that is free.
unsigned claim_table::take_slot(const std::string& name) {
    std::set<unsigned>& taken = slots_[name];
    unsigned n = 0;
    for (const unsigned each : taken)
        if (each == n) ++n;
    taken.insert(n);
    return n;
}

record claim_table::record_of(const spi::claim_request& wanted, const lock&) {
    record& known = claims_[wanted.id];
    if (known) return known;
    const bool renewed = wanted.renew == renew::on;
    const bool detached = wanted.kept_by == kept_by::lease;
    const bool own_lease = !renewed || detached || !parts_->keys.native();
    const bool replaces = wanted.instead_of != claim_id{};
    known = base::make_spared<claim_record>(base::queued_claim::rules{
        .looks_first =
            own_lease && !replaces,  // a lease of its own is not worth the trouble if somebody holds the lock
        .confirms = true,
        .ends_own_lease = own_lease,
        .replaces = replaces,
        .capacity = wanted.capacity});
    known->name = wanted.name;
    known->id = wanted.id;
    known->line_id = line_id_of(wanted.id);
    known->life = wanted.lease.value_or(std::chrono::seconds{30});
    known->renewed = renewed;
    known->detached = detached;
    known->own_lease = own_lease;
    if (parts_->keys.native() && !detached) known->slot = take_slot(known->name);
    known->at = keys_of(known->name, known->id, known->slot);
    known->mine = {.at = {.id = known->line_id,
                          .capacity = wanted.capacity,
                          .weight = wanted.weight,
                          .instead_of = wanted.instead_of},
                   .own_lease = own_lease,
                   .detached = detached,
                   .keeps = wanted.keeps_idle,
                   .pid = parts_->context.pid,
                   .host = parts_->context.host,
                   .label = std::string(wanted.label)};
    return known;
}

record claim_table::find(const claim_id& id, const lock&) const {
    const auto it = claims_.find(id);
    return it != claims_.end() ? it->second : nullptr;
}

std::vector<record> claim_table::all_on(const std::shared_ptr<lease>& which, const lock&) const {
    std::vector<record> some;
    for (const auto& [id, claim] : claims_)
        if (claim->on == which) some.push_back(claim);
    return some;
}

std::vector<record> claim_table::all(const lock&) const {
    std::vector<record> some;
    for (const auto& [id, claim] : claims_) some.push_back(claim);
    return some;
}

// What of it may still arrive must not meet another claim under the same key.
void claim_table::forget(const record& claim) {
    const lock held{mutex_};
    const auto it = claims_.find(claim->id);
    if (it == claims_.end() || it->second != claim) return;
    claims_.erase(it);
    if (const auto tail = tails_.find(claim->name); tail != tails_.end() && tail->second.lock() == claim)
        tails_.erase(tail);
    if (!claim->slot || !claim->machine.quiet()) return;
    const auto taken = slots_.find(claim->name);
    taken->second.erase(*claim->slot);
    if (taken->second.empty()) slots_.erase(taken);
}

claim_keys claim_table::keys_of(std::string_view name, const claim_id& id, std::optional<unsigned> slot) const {
    const key_layout& keys = parts_->keys;
    claim_keys at{.folder = keys.folder_of(name), .key = {}, .gone_key = keys.gone_key_of(id)};
    at.key = slot ? keys.key_in(at.folder, me_, *slot) : keys.key_in(at.folder, id);
    return at;
}

claim_id claim_table::line_id_of(const claim_id& id) const {
    return parts_->keys.native() ? id : claim_id{{0, static_cast<std::uint64_t>(lease_of(id))}};
}

// The first answer counts.
void claim_table::remember(std::string_view name, const claim_id& id, std::optional<spi::release_answer> reply,
                           const lock&) {
    const spi::time_point now = parts_->context.clock.now();
    const claim_id key = id_under(name, id);
    const base::ended_claim* before = ended_.find(key, now);
    if (before == nullptr || (reply && before->answer == base::ended_claim::not_asked))
        ended_.add(base::ended_claim::at(now, key, reply), now);
}

bool claim_table::was_released(std::string_view name, const claim_id& id, const lock&) {
    return ended_.find(id_under(name, id), parts_->context.clock.now()) != nullptr;
}

std::optional<spi::release_answer> claim_table::remembered(std::string_view name, const claim_id& id, const lock&) {
    const base::ended_claim* ended = ended_.find(id_under(name, id), parts_->context.clock.now());
    if (ended == nullptr || ended->answer == base::ended_claim::not_asked) return std::nullopt;
    return static_cast<spi::release_answer>(ended->answer);
}

bool claim_table::leaves(std::string_view name, const claim_id& id, const lock& held) {
    const record ours = find(id, held);
    return (ours && ours->machine.leaves()) || ended_.find(id_under(name, id), parts_->context.clock.now()) != nullptr;
}

std::optional<claim_record::neighbour> claim_table::tail_before(const claim_record& claim, const lock&) {
    if (!admits_no_other(claim.mine.at)) return std::nullopt;
    const auto it = tails_.find(claim.name);
    if (it == tails_.end()) return std::nullopt;
    const record last = it->second.lock();
    if (last && waits(*last) && last->mine.at.capacity == claim.mine.at.capacity && !last->neighbours.empty())
        return last->neighbours.front();
    tails_.erase(it);
    return std::nullopt;
}

void claim_table::note_neighbours(const record& claim, const line_snapshot& found, const base::line_verdict& judged,
                                  const spi::standing& now, const lock&) {
    claim->neighbours.clear();
    if (claim->machine.leaves()) return;
    if (!found.missing_before && found.entries.size() <= a_short_line) return;
    claim->neighbours.push_back({claim->at.key, claim->arrived});
    for (const claim_id& id : judged.watch)
        if (const stored_claim* one = found.find(id)) claim->neighbours.push_back({one->key, one->at.arrived});
    const record last = tails_[claim->name].lock();
    std::optional<mortise::holder> before = last ? last->standing.holder : claim->standing.holder;
    claim->standing = now;
    if (!claim->standing.holder) claim->standing.holder = std::move(before);
    claim->read_at = parts_->context.clock.now();
    if (!last || !waits(*last) || last->arrived < claim->arrived) tails_[claim->name] = claim;
}

bool claim_table::is_in_a_crowd(const claim_record& claim, const lock&) const {
    if (!parts_->keys.native() || !admits_no_other(claim.mine.at)) return false;
    const auto it = tails_.find(claim.name);
    const record last = it == tails_.end() ? nullptr : it->second.lock();
    return last && last.get() != &claim && waits(*last);
}

void claim_table::note_order(const line_snapshot& found) {
    if (!parts_->keys.native()) return;
    const lock held{mutex_};
    record before;
    for (const stored_claim& one : found.entries) {
        const bool here = one.pid == parts_->context.pid && admits_no_other(one.at) && one.at.place == 0;
        record ours = here ? find(one.at.id, held) : nullptr;
        if (ours && before) before->followed_by = {ours, before->arrived, one.at.arrived};
        before = std::move(ours);
    }
}

bool claim_table::is_handed_the_lock(const record& claim, const base::line_verdict& judged, const lock& held) const {
    const record before = judged.watch.size() == 1 ? find(judged.watch.front(), held) : nullptr;
    return before && before->slot && !floors_.contains(claim->name) && before->followed_by.claim.lock() == claim &&
           before->followed_by.behind == before->arrived;
}

record claim_table::next_of(const record& claim) {
    const lock held{mutex_};
    if (!claim->was_held || !claim->slot || floors_.contains(claim->name)) return nullptr;
    record next = claim->followed_by.claim.lock();
    if (!next || claim->followed_by.behind != claim->arrived || claim->followed_by.arrived != next->arrived)
        return nullptr;
    return next->machine.leaves() ? nullptr : next;
}

bool claim_table::has_floor(const std::string& name) {
    const lock held{mutex_};
    return floors_.contains(name);
}

void claim_table::floor_wiped(const std::string& name) {
    const lock held{mutex_};
    floors_.erase(name);
}

}  // namespace mortise::inline v0::stores::etcd
