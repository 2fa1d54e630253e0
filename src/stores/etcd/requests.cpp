#include "stores/etcd/requests.hpp"

#include "base/words.hpp"

#include <algorithm>
#include <charconv>
#include <concepts>
#include <utility>

namespace mortise::inline v0::stores::etcd {
namespace {

using rpc::compare;
using rpc::txn_request;

constexpr std::string_view value_format = "1";
constexpr std::string_view floor_key = "floor";
constexpr std::string_view keeps_word = "keeps";

void if_absent(txn_request& all, const std::string& key) {
    all.compares.push_back({.key = key});
}

void if_present(txn_request& all, const std::string& key) {
    all.compares.push_back({.key = key, .result = compare::greater});
}

// It is the very one that was read: keys are used again.
void if_created(txn_request& all, const std::string& key, std::uint64_t created) {
    all.compares.push_back({.key = key, .revision = static_cast<std::int64_t>(created)});
}

void if_created(txn_request& all, const stored_claim& one) {
    if_created(all, one.key, one.at.arrived);
}

void if_none(txn_request& all, const std::string& from, const std::string& to) {
    all.compares.push_back({.key = from, .range_end = to});
}

void if_value(txn_request& all, const std::string& key, const std::string& value) {
    all.compares.push_back({.key = key, .target = compare::value, .text = value});
}

void if_unchanged(txn_request& all, const std::string& key, std::int64_t modified) {
    all.compares.push_back({.key = key, .target = compare::mod_revision, .revision = modified});
}

// True of an empty range, and of one in which nothing is younger.
void if_no_younger(txn_request& all, const std::string& folder, std::int64_t than) {
    all.compares.push_back({.key = folder,
                            .range_end = end_of(folder),
                            .target = compare::mod_revision,
                            .result = compare::less,
                            .revision = than + 1});
}

rpc::range_request whole_of(std::string_view folder) {
    return {.key = std::string(folder), .range_end = end_of(folder)};
}

// So many are most lines whole. etcd goes through all of a line to find these, so nothing is asked for twice.
constexpr std::int64_t most_read = 32;
// For a crowd of one client, which goes on for so long with what one of it has read.
constexpr std::int64_t most_read_for_many = 128;

rpc::range_request some_of(std::string_view folder, rpc::order which, std::int64_t most, std::uint64_t up_to = 0) {
    rpc::range_request some = whole_of(folder);
    some.by_creation = which;
    some.limit = most;
    some.max_create_revision = static_cast<std::int64_t>(up_to);
    return some;
}

// A word more, after a space.
void add_word(std::string& to, std::integral auto n, int base = 10) {
    char room[20];
    const auto made = std::to_chars(room, room + sizeof room, n, base);
    to += ' ';
    to.append(room, made.ptr);
}

void add_word(std::string& to, const claim_id& id) {
    for (const std::uint64_t half : id.bits) add_word(to, half, 16);
}

}  // namespace

// "1 id capacity weight own-lease stamped counter place instead-of pid [keeps]" and two lines: host, label.
std::string stored_claim::value() const {
    constexpr std::size_t most_words = 200;
    std::string text{value_format};
    text.reserve(most_words + host.size() + label.size());
    add_word(text, at.id);
    add_word(text, at.capacity);
    add_word(text, at.weight);
    add_word(text, detached ? 2 : own_lease ? 1 : 0);
    add_word(text, at.stamped ? 1 : 0);
    add_word(text, at.stamped ? at.written : 0);
    add_word(text, at.place);
    add_word(text, at.instead_of);
    add_word(text, pid);
    if (keeps) (text += ' ') += keeps_word;
    text.append("\n").append(host).append("\n").append(label);
    return text;
}

bool stored_claim::read_value(std::string_view text) {
    const auto line = [&] {
        const std::string_view first = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(first.size() + 1, text.size()));
        return first;
    };
    base::words in{line()};
    if (in.next() != value_format) return false;
    for (std::uint64_t& half : at.id.bits) half = in.number<std::uint64_t>(16);
    at.capacity = in.number<std::uint32_t>();
    at.weight = in.number<std::uint32_t>();
    const auto own = in.number<unsigned>();
    const auto stamped = in.number<unsigned>();
    const auto counter = in.number<std::uint64_t>();
    at.place = in.number<std::uint64_t>();
    for (std::uint64_t& half : at.instead_of.bits) half = in.number<std::uint64_t>(16);
    pid = in.number();
    keeps = in.rest() == keeps_word;
    if (in.bad() || at.capacity < 1 || at.weight < 1 || at.weight > at.capacity) return false;
    host = line();
    label = line();
    own_lease = own != 0;
    detached = own == 2;
    at.stamped = stamped != 0;
    if (counter != 0) at.written = counter;
    return true;
}

std::vector<base::line_entry> line_snapshot::shape() const {
    std::vector<base::line_entry> all;
    all.reserve(entries.size());
    for (const stored_claim& one : entries) all.push_back(one.at);
    return all;
}

const stored_claim* line_snapshot::find(const claim_id& id) const {
    const auto it = std::ranges::find_if(entries, [&](const stored_claim& one) { return one.at.id == id; });
    return it == entries.end() ? nullptr : &*it;
}

std::optional<base::line_verdict> line_snapshot::judge(const claim_id& mine) const {
    const std::vector<base::line_entry> end = shape();
    base::line_part part{.end = end, .missing_before = missing_before, .missing_after = missing_after};
    if (first) part.first = first->at;
    return base::judge_part(part, mine, floor);
}

std::optional<base::line_verdict> line_snapshot::judge_hold(const claim_id& mine, std::int64_t seen_at) const {
    if (revision < seen_at || missing_before) return std::nullopt;
    const std::optional<base::line_verdict> judged = judge(mine);
    const bool holds = judged && judged->is == base::line_verdict::verdict::holds && !judged->to_be_stamped;
    return holds ? judged : std::nullopt;
}

line_snapshot read_line(const key_layout& keys, std::string_view folder, const rpc::range_response& reply,
                        std::int64_t revision) {
    line_snapshot all{.revision = revision};
    for (const auto& kv : reply.kvs) {
        const std::string_view key = kv.key;
        if (!key.starts_with(folder)) continue;
        const std::string_view rest = key.substr(folder.size());
        if (keys.native() && rest == floor_key) all.floor = static_cast<std::uint64_t>(kv.mod_revision);
        stored_claim one;
        one.key = kv.key;
        one.lease = kv.lease;
        one.modified = kv.mod_revision;
        one.at.arrived = static_cast<std::uint64_t>(kv.create_revision);
        one.at.written = static_cast<std::uint64_t>(kv.mod_revision);
        if (keys.native()) {
            if (!one.read_value(kv.value)) continue;
        } else {  // every key in the folder counts, as for the others
            const auto lease = key_layout::lease_in(rest);
            one.at.id = lease ? claim_id{{0, *lease}} : claim_id{{1, one.at.arrived}};
            one.own_lease = true;
        }
        all.entries.push_back(std::move(one));
    }
    std::ranges::sort(all.entries, {}, [](const stored_claim& one) { return one.at.arrived; });
    return all;
}

std::string enter_request(const claim_keys& at, std::string value, std::int64_t lease, entry_mode how,
                          std::int64_t read_at) {
    txn_request all;
    all.compares.reserve(2);
    all.success.reserve(2);
    if (how == entry_mode::anyhow) {
        if_absent(all, at.key);
    } else {
        if_no_younger(all, at.folder, how == entry_mode::if_empty ? 0 : read_at);
    }
    if_absent(all, at.gone_key);
    all.success.emplace_back(rpc::put_request{at.key, std::move(value), lease});
    all.success.emplace_back(how == entry_mode::anyhow ? some_of(at.folder, rpc::descending, most_read)
                                                       : whole_of(at.folder));
    if (how == entry_mode::anyhow)
        all.failure.emplace_back(rpc::range_request{.key = at.key});
    else
        all.failure.emplace_back(whole_of(at.folder));
    return encoded(all);
}

std::string enter_behind_request(const claim_keys& at, std::string value, std::int64_t lease,
                                 const std::string& behind) {
    txn_request all;
    if_absent(all, at.key);
    if_absent(all, at.gone_key);
    all.success = {rpc::put_request{at.key, std::move(value), lease}, rpc::range_request{.key = behind}};
    all.failure = {rpc::range_request{.key = at.key}};
    return encoded(all);
}

std::string peek_request(const std::vector<std::string>& keys) {
    txn_request all;
    for (const std::string& key : keys) all.success.emplace_back(rpc::range_request{.key = key});
    return encoded(all);
}

std::vector<std::uint64_t> read_peek(const std::string& bytes) {
    rpc::txn_response reply;
    std::vector<std::uint64_t> created;
    if (!decode(bytes, reply)) return created;
    for (const rpc::result& one : reply.responses)
        if (const auto* range = std::get_if<rpc::range_response>(&one))
            created.push_back(range->kvs.empty() ? 0 : static_cast<std::uint64_t>(range->kvs.front().create_revision));
    return created;
}

std::string read_end_request(std::string_view folder, std::uint64_t up_to, bool first) {
    txn_request all;
    all.success = {some_of(folder, rpc::descending, most_read, up_to),
                   rpc::range_request{.key = std::string(folder) + std::string(floor_key)}};
    if (first) all.success.emplace_back(some_of(folder, rpc::ascending, 2));  // one of them may be the floor
    return encoded(all);
}

std::string front_request(std::string_view folder) {
    return encoded(txn_request{.success = {some_of(folder, rpc::ascending, most_read_for_many),
                                           rpc::range_request{.key = std::string(folder) + std::string(floor_key)}}});
}

std::string read_request(std::string_view folder) {
    return encoded(txn_request{.success = {whole_of(folder)}});  // so that it is answered as the others are
}

std::string glance_request(std::string_view folder) {
    rpc::range_request some = whole_of(folder);
    some.limit = most_read;
    some.of_this_member = true;
    return encoded(some);
}

std::optional<line_snapshot> read_glance(const key_layout& keys, std::string_view folder, const std::string& bytes) {
    rpc::range_response reply;
    if (!decode(bytes, reply)) return std::nullopt;
    line_snapshot found = read_line(keys, folder, reply, reply.revision);
    found.missing_before = reply.more;
    return found;
}

std::string all_request(const std::string& from, const std::string& prefix, std::int64_t limit) {
    return encoded(rpc::range_request{.key = from, .range_end = end_of(prefix), .limit = limit});
}

std::string read_key_request(const std::string& key) {
    return encoded(rpc::range_request{.key = key});
}

std::string leave_request(const claim_keys& at, const std::string& value, bool mark, std::int64_t lease) {
    txn_request all;
    if (value.empty()) {
        if_present(all, at.key);
    } else {
        if_value(all, at.key, value);
    }
    all.success = {rpc::delete_request{.key = at.key, .prev_kv = true}};
    all.failure = {whole_of(at.folder), rpc::range_request{.key = at.gone_key}};
    if (mark)
        for (auto* some : {&all.success, &all.failure})
            some->push_back(rpc::put_request{.key = at.gone_key, .lease = lease});
    return encoded(all);
}

std::string leave_together_request(const std::vector<leaver>& some) {
    txn_request all;
    for (const leaver& one : some) {
        all.success.emplace_back(rpc::delete_request{.key = one.at.key});
        if (one.mark_on != 0) all.success.emplace_back(rpc::put_request{.key = one.at.gone_key, .lease = one.mark_on});
    }
    return encoded(all);
}

std::vector<bool> read_left_together(const std::string& bytes) {
    rpc::txn_response reply;
    std::vector<bool> deleted;
    if (!decode(bytes, reply)) return deleted;
    for (const rpc::result& one : reply.responses)
        if (const auto* gone = std::get_if<rpc::delete_response>(&one)) deleted.push_back(gone->deleted != 0);
    return deleted;
}

std::string take_away_request(const std::string& key, std::int64_t modified) {
    txn_request all;
    if_unchanged(all, key, modified);
    all.success = {rpc::delete_request{.key = key}};
    return encoded(all);
}

std::string move_request(const std::string& key, std::int64_t modified, const std::string& value, std::int64_t lease) {
    txn_request all;
    if_unchanged(all, key, modified);
    all.success = {rpc::put_request{key, value, lease}};
    return encoded(all);
}

std::string exchange_request(const claim_keys& at, const std::string& value, std::int64_t lease,
                             const std::string& old_key, const std::vector<const stored_claim*>& guards,
                             std::uint64_t floor) {
    txn_request all;
    const std::string beside = at.folder + std::string(floor_key);
    for (const stored_claim* one : guards) if_created(all, *one);
    if_unchanged(all, beside, static_cast<std::int64_t>(floor));
    all.success = {rpc::delete_request{.key = old_key}, rpc::put_request{at.key, value, lease},
                   rpc::put_request{.key = beside}};
    return encoded(all);
}

std::string stamp_request(const stored_claim& mine, const std::string& value, std::uint64_t floor,
                          const std::string& folder) {
    txn_request all;
    const std::string beside = folder + std::string(floor_key);
    if_created(all, mine);
    if_unchanged(all, beside, static_cast<std::int64_t>(floor));
    all.success = {rpc::put_request{mine.key, value, mine.lease}, rpc::put_request{.key = beside}};
    return encoded(all);
}

std::string wipe_floor_request(const std::string& folder) {
    txn_request all;
    const std::string beside = folder + std::string(floor_key);
    if_none(all, folder, beside);
    if_none(all, beside + '\0', end_of(folder));
    all.success = {rpc::delete_request{.key = beside}};
    return encoded(all);
}

std::string remove_request(const std::string& key) {
    return encoded(rpc::delete_request{.key = key});
}

std::string hand_on_request(const claim_keys& at, std::uint64_t created, const std::string& next) {
    txn_request all;
    if_created(all, at.key, created);
    all.success = {rpc::delete_request{.key = at.key}, rpc::range_request{.key = next},
                   rpc::range_request{.key = at.folder + std::string(floor_key)}};
    return encoded(all);
}

std::string put_request(const std::string& key, std::int64_t lease) {
    return encoded(rpc::put_request{.key = key, .lease = lease});
}

std::string touch_request(const stored_claim& kept) {
    txn_request all;
    if_unchanged(all, kept.key, kept.modified);
    all.success = {rpc::put_request{.key = kept.key, .only_touch = true}};
    return encoded(all);
}

txn_reply read_txn(const key_layout& keys, std::string_view folder, const std::string& bytes) {
    rpc::txn_response reply;
    txn_reply read;
    if (!decode(bytes, reply)) return read;
    read.read = true;
    read.succeeded = reply.succeeded;
    read.revision = reply.revision;
    for (const rpc::result& one : reply.responses) {
        const auto* range = std::get_if<rpc::range_response>(&one);
        if (range && read.found) {  // the first of the line, its floor, or the mark of an id
            const line_snapshot more = read_line(keys, folder, *range, read.revision);
            if (!more.entries.empty()) read.found->first = more.entries.front();
            if (more.floor != 0) read.found->floor = more.floor;
            read.marked = !range->kvs.empty() && !range->kvs.front().key.starts_with(folder);
        } else if (range) {
            read.found = read_line(keys, folder, *range, read.revision);
            read.found->missing_before = range->more;
        }
        if (const auto* gone = std::get_if<rpc::delete_response>(&one); gone && !gone->prev_kvs.empty()) {
            read.lease = gone->prev_kvs.front().lease;
            read.removed = gone->prev_kvs.front().value;
        }
    }
    return read;
}

std::string grant_lease_request(std::int64_t id, std::int64_t ttl) {
    return encoded(rpc::lease_grant_request{.ttl = ttl, .id = id});
}

std::string lease_request(std::int64_t id) {
    return encoded(rpc::lease_id{id});
}

}  // namespace mortise::inline v0::stores::etcd
