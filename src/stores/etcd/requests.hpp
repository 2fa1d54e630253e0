// What is asked of etcd, and what its answers mean. Pure: no connection, no clock.
#pragma once

#include "base/kinds.hpp"
#include "base/line.hpp"
#include "stores/etcd/names.hpp"
#include "stores/etcd/rpc.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::inline v0::stores::etcd {

namespace method {
inline constexpr const char* range = "/etcdserverpb.KV/Range";
inline constexpr const char* put = "/etcdserverpb.KV/Put";
inline constexpr const char* remove = "/etcdserverpb.KV/DeleteRange";
inline constexpr const char* txn = "/etcdserverpb.KV/Txn";
inline constexpr const char* watch = "/etcdserverpb.Watch/Watch";
inline constexpr const char* grant_lease = "/etcdserverpb.Lease/LeaseGrant";
inline constexpr const char* revoke_lease = "/etcdserverpb.Lease/LeaseRevoke";
inline constexpr const char* keep_lease = "/etcdserverpb.Lease/LeaseKeepAlive";
inline constexpr const char* left_of_lease = "/etcdserverpb.Lease/LeaseTimeToLive";
inline constexpr const char* status = "/etcdserverpb.Maintenance/Status";
inline constexpr const char* alarms = "/etcdserverpb.Maintenance/Alarm";
}  // namespace method

// One claim, as its key and value have it.
struct stored_claim {
    base::line_entry at{};
    bool own_lease = false;  // nobody else's key is on its lease
    bool detached = false;   // so is this, and its id is known to others
    bool keeps = false;      // its client may keep it while it is idle, and watches the line meanwhile
    std::int64_t pid = 0;
    std::string host{};
    std::string label{};

    std::string key{};  // these are not in the value
    std::int64_t lease = 0;
    std::int64_t modified = 0;

    bool reads() const noexcept {  // and replaces nothing
        return base::reads(at.capacity, at.weight) && at.instead_of == claim_id{};
    }

    std::string value() const;
    bool read_value(std::string_view text);  // false: it is not one of ours
};

// All claims on one name, or those near one of them.
struct line_snapshot {
    std::int64_t revision = 0;  // of the whole store, when it was read
    std::vector<stored_claim> entries{};
    std::uint64_t floor = 0;
    std::optional<stored_claim> first{};  // these as in base::line_part
    bool missing_before = false;
    bool missing_after = false;

    std::vector<base::line_entry> shape() const;
    const stored_claim* find(const claim_id& id) const;
    std::optional<base::line_verdict> judge(const claim_id& mine) const;  // if it tells
    // If it says that it holds: also if this is an old answer; but not if it is older than what the claim has seen, since it
    // may have come twice.
    std::optional<base::line_verdict> judge_hold(const claim_id& mine, std::int64_t seen_at) const;
};

line_snapshot read_line(const key_layout& keys, std::string_view folder, const rpc::range_response& reply,
                        std::int64_t revision);

// Where a claim lies.
struct claim_keys {
    std::string folder;
    std::string key;
    std::string gone_key;  // if it is there, the claim cannot be
};

// The same behind a claim that waits, of a long line that need not be read: answers whether that is there, or finds itself.
std::string enter_behind_request(const claim_keys& at, std::string value, std::int64_t lease,
                                 const std::string& behind);

// Whether some claims are still there.
std::string peek_request(const std::vector<std::string>& keys);
// The revisions at which they came, 0 if they are not there; empty if it is not understood.
std::vector<std::uint64_t> read_peek(const std::string& bytes);

// Enters the line, or finds itself in it; answers the line, or its end if it has entered anyhow.
enum class entry_mode {
    anyhow,    // at its end
    if_empty,  // nobody is in it
    if_same,   // nobody has come since it was read
};
std::string enter_request(const claim_keys& at, std::string value, std::int64_t lease, entry_mode how,
                          std::int64_t read_at = 0);

std::string read_request(std::string_view folder);  // of a line
// Of a line that is short, as the member knows it that is asked: for who was told that it is its turn.
std::string glance_request(std::string_view folder);
std::optional<line_snapshot> read_glance(const key_layout& keys, std::string_view folder, const std::string& bytes);
// Of a line what came up to that revision, and of that the youngest. `first`: also the very first.
std::string read_end_request(std::string_view folder, std::uint64_t up_to, bool first);
// The oldest of a line.
std::string front_request(std::string_view folder);
std::string all_request(const std::string& from, const std::string& prefix, std::int64_t limit);
std::string read_key_request(const std::string& key);

// Leaves the line, if the key is still there and, unless that is empty, has this value. With a mark, the id cannot enter any
// more while the lease lives. Answers the line if it is not in it.
std::string leave_request(const claim_keys& at, const std::string& value, bool mark, std::int64_t lease);
// Takes away what has not changed since.
// Of several at once, whatever their values. The mark of each that has a lease here is left.
struct leaver {
    claim_keys at;
    std::int64_t mark_on = 0;
};
std::string leave_together_request(const std::vector<leaver>& all);
// Whether there was a key of each, in the same order; empty if it is not understood.
std::vector<bool> read_left_together(const std::string& bytes);

std::string take_away_request(const std::string& key, std::int64_t modified);
// Moves what has not changed since to another lease.
std::string move_request(const std::string& key, std::int64_t modified, const std::string& value, std::int64_t lease);
// Takes the place of the claim with the old key, if all the guards are the ones that were read and the floor is.
std::string exchange_request(const claim_keys& at, const std::string& value, std::int64_t lease,
                             const std::string& old_key, const std::vector<const stored_claim*>& guards,
                             std::uint64_t floor);
// Writes what was read once more, and the floor with it, if that has not changed.
std::string stamp_request(const stored_claim& mine, const std::string& value, std::uint64_t floor,
                          const std::string& folder);
// If nobody is in the line.
std::string wipe_floor_request(const std::string& folder);
std::string remove_request(const std::string& key);
// The same of a key that came at that revision; answers another key of the line, and the floor.
std::string hand_on_request(const claim_keys& at, std::uint64_t created, const std::string& next);
std::string put_request(const std::string& key, std::int64_t lease);
// Tells whoever keeps it that somebody asks who does not enter the line; once is enough.
std::string touch_request(const stored_claim& kept);

// What a transaction answered.
struct txn_reply {
    bool read = false;  // it could be read at all
    bool succeeded = false;
    std::int64_t revision = 0;
    std::optional<line_snapshot> found{};  // if it read a line
    std::optional<std::int64_t> lease{};   // of the key that was removed
    std::string removed{};                 // its value
    bool marked = false;                   // it was released before
};
txn_reply read_txn(const key_layout& keys, std::string_view folder, const std::string& bytes);

std::string grant_lease_request(std::int64_t id, std::int64_t ttl);
std::string lease_request(std::int64_t id);  // keep, revoke, ask how much is left

}  // namespace mortise::inline v0::stores::etcd
