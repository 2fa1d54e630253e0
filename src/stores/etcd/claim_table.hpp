// The claims of a client, by id and by name, and what is remembered of those that have ended.
#pragma once

#include "base/ended_claims.hpp"
#include "stores/etcd/claim_record.hpp"
#include "stores/etcd/client_parts.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace mortise::inline v0::stores::etcd {

// Its mutex guards the table and its records. Functions that take `held` want it locked; the others lock it.
class claim_table {
public:
    using lock = std::unique_lock<std::mutex>;

    explicit claim_table(std::shared_ptr<const client_parts> parts) : parts_(std::move(parts)) {}

    lock locked() { return lock{mutex_}; }

    record record_of(const spi::claim_request& wanted, const lock& held);
    record find(const claim_id& id, const lock& held) const;
    std::vector<record> all_on(const std::shared_ptr<lease>& which, const lock& held) const;
    std::vector<record> all(const lock& held) const;
    void forget(const record& claim);

    claim_keys keys_of(std::string_view name, const claim_id& id, std::optional<unsigned> slot = {}) const;
    claim_id line_id_of(const claim_id& id) const;

    // A claim that has ended, and what its release was answered; none: that is still on its way.
    void remember(std::string_view name, const claim_id& id, std::optional<spi::release_answer> reply,
                  const lock& held);
    bool was_released(std::string_view name, const claim_id& id, const lock& held);
    std::optional<spi::release_answer> remembered(std::string_view name, const claim_id& id, const lock& held);
    // On its way out, or out since the line was read.
    bool leaves(std::string_view name, const claim_id& id, const lock& held);

    // The last of ours in a long line, if it waits: whoever comes now and admits no other waits at least as long.
    std::optional<claim_record::neighbour> tail_before(const claim_record& claim, const lock& held);
    // What is read of a long line is kept, so that it need not be read often.
    void note_neighbours(const record& claim, const line_snapshot& found, const base::line_verdict& judged,
                         const spi::standing& now, const lock& held);

    // Another claim of this client waits in its long line, further back or not.
    bool is_in_a_crowd(const claim_record& claim, const lock& held) const;
    // Who of ours stands right behind whom.
    void note_order(const line_snapshot& found);
    // It will be handed the lock by a claim of this client.
    bool is_handed_the_lock(const record& claim, const base::line_verdict& judged, const lock& held) const;
    // The claim that holds when this one, which holds alone, has left; if it is ours.
    record next_of(const record& claim);

    // Names beside whose lines a floor was seen.
    void note_floor(const std::string& name, const lock& /*held*/) { floors_.insert(name); }
    bool has_floor(const std::string& name);
    void floor_wiped(const std::string& name);

private:
    unsigned take_slot(const std::string& name);

    const std::shared_ptr<const client_parts> parts_;
    const std::string me_ = claim_id::random().hex().substr(0, 16);

    std::mutex mutex_;
    std::unordered_map<claim_id, record> claims_;
    std::unordered_map<std::string, std::set<unsigned>> slots_;           // that are taken, by name
    std::unordered_map<std::string, std::weak_ptr<claim_record>> tails_;  // the last of ours in a long line, by name
    std::unordered_set<std::string> floors_;
    // Many: those of all names, and a client can release thousands of locks a second.
    base::ended_claims<std::size_t{1} << 16> ended_;
};

}  // namespace mortise::inline v0::stores::etcd
