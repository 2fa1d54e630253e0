#include "stores/etcd/requests.hpp"

#include "rpc.pb.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <sstream>

namespace mortise::inline v0::stores::etcd {
namespace {

using mortise_etcd::compare;
using mortise_etcd::txn_request;

constexpr std::string_view value_format = "1";
constexpr std::string_view floor_key = "floor";

enum comparison { equal = 0, greater = 1, less = 2 };
enum compared { create_revision = 1, mod_revision = 2, value_itself = 3 };

void if_absent(txn_request& all, const std::string& key) {
    compare& one = *all.add_compare();
    one.set_key(key);
    one.set_target(create_revision);
    one.set_result(equal);
    one.set_create_revision(0);
}

void if_present(txn_request& all, const std::string& key) {
    compare& one = *all.add_compare();
    one.set_key(key);
    one.set_target(create_revision);
    one.set_result(greater);
    one.set_create_revision(0);
}

// It is the very one that was read: keys are used again.
void if_created(txn_request& all, const entry& one) {
    compare& same = *all.add_compare();
    same.set_key(one.key);
    same.set_target(create_revision);
    same.set_result(equal);
    same.set_create_revision(static_cast<std::int64_t>(one.at.arrived));
}

void if_none(txn_request& all, const std::string& from, const std::string& to) {
    compare& one = *all.add_compare();
    one.set_key(from);
    one.set_range_end(to);
    one.set_target(create_revision);
    one.set_result(equal);
    one.set_create_revision(0);
}

void if_value(txn_request& all, const std::string& key, const std::string& value) {
    compare& one = *all.add_compare();
    one.set_key(key);
    one.set_target(value_itself);
    one.set_result(equal);
    one.set_value(value);
}

void if_unchanged(txn_request& all, const std::string& key, std::int64_t modified) {
    compare& one = *all.add_compare();
    one.set_key(key);
    one.set_target(mod_revision);
    one.set_result(equal);
    one.set_mod_revision(modified);
}

// True of an empty range, and of one in which nothing is younger.
void if_no_younger(txn_request& all, const std::string& folder, std::int64_t than) {
    compare& one = *all.add_compare();
    one.set_key(folder);
    one.set_range_end(end_of(folder));
    one.set_target(mod_revision);
    one.set_result(less);
    one.set_mod_revision(than + 1);
}

void read_folder(mortise_etcd::range_request& one, std::string_view folder) {
    one.set_key(std::string(folder));
    one.set_range_end(end_of(folder));
}

// So many are most lines whole. etcd goes through all of a line to find these, so nothing is asked for twice.
constexpr std::int64_t most_read = 32;
enum order { ascending = 1, descending = 2 };

void read_some(txn_request& all, std::string_view folder, order which, std::int64_t most, std::uint64_t up_to = 0) {
    constexpr int by_creation = 2;
    auto& some = *all.add_success()->mutable_range();
    read_folder(some, folder);
    some.set_sort_target(by_creation);
    some.set_sort_order(which);
    some.set_limit(most);
    some.set_max_create_revision(static_cast<std::int64_t>(up_to));
}

std::string hex_word(std::uint64_t n) {
    char room[16];
    const auto made = std::to_chars(room, room + sizeof room, n, 16);
    return {room, made.ptr};
}

}  // namespace

// "1 id capacity weight own-lease stamped counter place instead-of pid" and two lines: host, label.
std::string entry::value() const {
    std::string text{value_format};
    text += " " + hex_word(at.id.bits[0]) + " " + hex_word(at.id.bits[1]);
    for (const std::uint64_t n : {std::uint64_t{at.capacity}, std::uint64_t{at.weight},
                                  std::uint64_t{detached    ? 2u
                                                : own_lease ? 1u
                                                            : 0u},
                                  std::uint64_t{at.stamped ? 1u : 0u}, at.stamped ? at.written : 0, at.place})
        text += " " + std::to_string(n);
    text += " " + hex_word(at.instead_of.bits[0]) + " " + hex_word(at.instead_of.bits[1]);
    return text + " " + std::to_string(pid) + "\n" + host + "\n" + label;
}

bool entry::read_value(std::string_view text) {
    std::istringstream in{std::string(text)};
    std::string first;
    unsigned own = 0;
    unsigned stamped = 0;
    std::uint64_t counter = 0;
    in >> first >> std::hex >> at.id.bits[0] >> at.id.bits[1] >> std::dec >> at.capacity >> at.weight >> own >>
        stamped >> counter >> at.place >> std::hex >> at.instead_of.bits[0] >> at.instead_of.bits[1] >> std::dec >> pid;
    if (!in || first != value_format || at.capacity < 1 || at.weight < 1 || at.weight > at.capacity) return false;
    in.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
    std::getline(in, host);
    std::getline(in, label);
    own_lease = own != 0;
    detached = own == 2;
    at.stamped = stamped != 0;
    if (counter != 0) at.written = counter;
    return true;
}

std::vector<base::line_entry> line::shape() const {
    std::vector<base::line_entry> all;
    all.reserve(entries.size());
    for (const entry& one : entries) all.push_back(one.at);
    return all;
}

const entry* line::find(const claim_id& id) const {
    const auto it = std::ranges::find_if(entries, [&](const entry& one) { return one.at.id == id; });
    return it == entries.end() ? nullptr : &*it;
}

std::optional<base::line_verdict> line::judge(const claim_id& mine) const {
    const std::vector<base::line_entry> end = shape();
    base::line_part part{.end = end, .missing_before = missing_before, .missing_after = missing_after};
    if (first) part.first = first->at;
    return base::judge_part(part, mine, floor);
}

line read_line(const key_layout& keys, std::string_view folder, const mortise_etcd::range_response& said,
               std::int64_t revision) {
    line all{.revision = revision};
    for (const auto& kv : said.kvs()) {
        const std::string_view key = kv.key();
        if (!key.starts_with(folder)) continue;
        const std::string_view rest = key.substr(folder.size());
        if (keys.native() && rest == floor_key) all.floor = static_cast<std::uint64_t>(kv.mod_revision());
        entry one;
        one.key = kv.key();
        one.lease = kv.lease();
        one.modified = kv.mod_revision();
        one.at.arrived = static_cast<std::uint64_t>(kv.create_revision());
        one.at.written = static_cast<std::uint64_t>(kv.mod_revision());
        if (keys.native()) {
            if (!one.read_value(kv.value())) continue;
        } else {  // every key in the folder counts, as for the others
            const auto lease = key_layout::lease_in(rest);
            one.at.id = lease ? claim_id{{0, *lease}} : claim_id{{1, one.at.arrived}};
            one.own_lease = true;
        }
        all.entries.push_back(std::move(one));
    }
    std::ranges::sort(all.entries, {}, [](const entry& one) { return one.at.arrived; });
    return all;
}

std::string enter_request(const place& at, const std::string& value, std::int64_t lease, entering how,
                          std::int64_t read_at) {
    txn_request all;
    if (how == entering::anyhow) {
        if_absent(all, at.key);
    } else {
        if_no_younger(all, at.folder, how == entering::if_empty ? 0 : read_at);
    }
    if_absent(all, at.gone_key);
    auto& put = *all.add_success()->mutable_put();
    put.set_key(at.key);
    put.set_value(value);
    put.set_lease(lease);
    if (how == entering::anyhow) {
        read_some(all, at.folder, descending, most_read);
    } else {
        read_folder(*all.add_success()->mutable_range(), at.folder);
    }
    read_folder(*all.add_failure()->mutable_range(), at.folder);
    return all.SerializeAsString();
}

std::string read_end_request(std::string_view folder, std::uint64_t up_to, bool first) {
    txn_request all;
    read_some(all, folder, descending, most_read, up_to);
    all.add_success()->mutable_range()->set_key(std::string(folder) + std::string(floor_key));
    if (first) read_some(all, folder, ascending, 2);  // one of them may be the floor
    return all.SerializeAsString();
}

std::string read_request(std::string_view folder) {
    txn_request all;  // so that it is answered as the others are
    read_folder(*all.add_success()->mutable_range(), folder);
    return all.SerializeAsString();
}

std::string all_request(const std::string& from, const std::string& prefix, std::int64_t limit) {
    mortise_etcd::range_request all;
    all.set_key(from);
    all.set_range_end(end_of(prefix));
    all.set_limit(limit);
    return all.SerializeAsString();
}

std::string read_key_request(const std::string& key) {
    mortise_etcd::range_request one;
    one.set_key(key);
    return one.SerializeAsString();
}

std::string leave_request(const place& at, const std::string& value, bool mark, std::int64_t lease) {
    txn_request all;
    if (value.empty()) {
        if_present(all, at.key);
    } else {
        if_value(all, at.key, value);
    }
    auto& gone = *all.add_success()->mutable_remove();
    gone.set_key(at.key);
    gone.set_prev_kv(true);
    read_folder(*all.add_failure()->mutable_range(), at.folder);
    all.add_failure()->mutable_range()->set_key(at.gone_key);
    if (mark)
        for (auto* one : {all.add_success(), all.add_failure()}) {
            one->mutable_put()->set_key(at.gone_key);
            one->mutable_put()->set_lease(lease);
        }
    return all.SerializeAsString();
}

std::string take_away_request(const std::string& key, std::int64_t modified) {
    txn_request all;
    if_unchanged(all, key, modified);
    all.add_success()->mutable_remove()->set_key(key);
    return all.SerializeAsString();
}

std::string move_request(const std::string& key, std::int64_t modified, const std::string& value, std::int64_t lease) {
    txn_request all;
    if_unchanged(all, key, modified);
    auto& put = *all.add_success()->mutable_put();
    put.set_key(key);
    put.set_value(value);
    put.set_lease(lease);
    return all.SerializeAsString();
}

std::string exchange_request(const place& at, const std::string& value, std::int64_t lease, const std::string& old_key,
                             const std::vector<const entry*>& guards, std::uint64_t floor) {
    txn_request all;
    const std::string beside = at.folder + std::string(floor_key);
    for (const entry* one : guards) if_created(all, *one);
    if_unchanged(all, beside, static_cast<std::int64_t>(floor));
    all.add_success()->mutable_remove()->set_key(old_key);
    auto& put = *all.add_success()->mutable_put();
    put.set_key(at.key);
    put.set_value(value);
    put.set_lease(lease);
    all.add_success()->mutable_put()->set_key(beside);
    return all.SerializeAsString();
}

std::string stamp_request(const entry& mine, const std::string& value, std::uint64_t floor, const std::string& folder) {
    txn_request all;
    const std::string beside = folder + std::string(floor_key);
    if_created(all, mine);
    if_unchanged(all, beside, static_cast<std::int64_t>(floor));
    auto& put = *all.add_success()->mutable_put();
    put.set_key(mine.key);
    put.set_value(value);
    put.set_lease(mine.lease);
    all.add_success()->mutable_put()->set_key(beside);
    return all.SerializeAsString();
}

std::string wipe_floor_request(const std::string& folder) {
    txn_request all;
    const std::string beside = folder + std::string(floor_key);
    if_none(all, folder, beside);
    if_none(all, beside + '\0', end_of(folder));
    all.add_success()->mutable_remove()->set_key(beside);
    return all.SerializeAsString();
}

std::string remove_request(const std::string& key) {
    mortise_etcd::delete_request one;
    one.set_key(key);
    return one.SerializeAsString();
}

std::string put_request(const std::string& key, std::int64_t lease) {
    mortise_etcd::put_request one;
    one.set_key(key);
    one.set_lease(lease);
    return one.SerializeAsString();
}

txn_said read_txn(const key_layout& keys, std::string_view folder, const std::string& bytes) {
    mortise_etcd::txn_response said;
    txn_said read;
    if (!said.ParseFromString(bytes)) return read;
    read.read = true;
    read.succeeded = said.succeeded();
    read.revision = said.header().revision();
    for (const auto& one : said.responses()) {
        if (one.has_range() && read.found) {  // the first of the line, its floor, or the mark of an id
            const line more = read_line(keys, folder, one.range(), read.revision);
            if (!more.entries.empty()) read.found->first = more.entries.front();
            if (more.floor != 0) read.found->floor = more.floor;
            read.marked = one.range().kvs_size() > 0 && !one.range().kvs(0).key().starts_with(folder);
        } else if (one.has_range()) {
            read.found = read_line(keys, folder, one.range(), read.revision);
            read.found->missing_before = one.range().more();
        }
        if (one.has_remove() && one.remove().prev_kvs_size() > 0) {
            read.lease = one.remove().prev_kvs(0).lease();
            read.removed = one.remove().prev_kvs(0).value();
        }
    }
    return read;
}

std::string grant_lease_request(std::int64_t id, std::int64_t ttl) {
    mortise_etcd::lease_grant_request one;
    one.set_id(id);
    one.set_ttl(ttl);
    return one.SerializeAsString();
}

std::string lease_request(std::int64_t id) {
    mortise_etcd::lease_id one;
    one.set_id(id);
    return one.SerializeAsString();
}

}  // namespace mortise::inline v0::stores::etcd
