#include "stores/sql/row_line.hpp"

#include "base/told_span.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iterator>

namespace mortise::inline v0::stores::sql {
namespace {

// The columns of a line.
enum column : std::size_t {
    seq,
    stands,
    place,
    id,
    capacity,
    weight,
    instead_of,
    confirmed,
    left_us,
    held_us,
    host,
    pid,
    label,
    columns,
};

constexpr std::int64_t kept_idle = 3;

row_entry entry_of(const values& row) {
    const auto number = [&](column which) { return number_in(row[which]); };
    const auto counter = static_cast<std::uint64_t>(number(seq));
    return {
        .at = {.id = id_in(row[id]),
               .arrived = counter,
               .written = counter,
               .capacity = static_cast<std::uint32_t>(number(capacity)),
               .weight = static_cast<std::uint32_t>(number(weight)),
               .instead_of = id_in(row[instead_of]),
               .place = static_cast<std::uint64_t>(number(place))},
        .confirmed = number(confirmed) != 0,
        .kept = number(confirmed) == kept_idle,
        .left = base::told_span<std::chrono::microseconds>(number(confirmed) != 0 ? number(left_us)
                                                                                  : 0),  // who waits has no end
        .owner = {.host = std::string(bytes_in(row[host])),
                  .pid = number(pid),
                  .label = std::string(bytes_in(row[label])),
                  .held_for = base::told_span<std::chrono::microseconds>(std::max<std::int64_t>(0, number(held_us))),
                  .token = token::of(counter, 0)}};
}

}  // namespace

std::string bytes_of(const claim_id& id) {
    std::string bytes;
    bytes.reserve(16);
    for (const std::uint64_t half : id.bits)
        for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(half >> shift));
    return bytes;
}

claim_id id_in(std::string_view text) {
    claim_id read{};
    if (text.size() != 16) return read;
    for (std::size_t i = 0; i < 16; ++i) read.bits[i / 8] = read.bits[i / 8] << 8 | static_cast<unsigned char>(text[i]);
    return read;
}

claim_id id_in(const value& bytes) {
    return id_in(bytes_in(bytes));
}

std::vector<claim_id> ids_in(const result& answer) {
    std::vector<claim_id> all;
    for (const values& row : answer.rows) {
        if (row.empty()) continue;
        const std::string_view some = bytes_in(row.front());
        for (std::size_t at = 0; at + 16 <= some.size(); at += 16) all.push_back(id_in(some.substr(at, 16)));
    }
    return all;
}

std::vector<std::pair<claim_id, std::uint64_t>> numbered_ids_in(std::string_view records) {
    constexpr std::size_t size = 24;
    std::vector<std::pair<claim_id, std::uint64_t>> all;
    for (; records.size() >= size; records.remove_prefix(size)) {
        std::uint64_t number = 0;
        for (const char one : records.substr(16, 8)) number = number << 8 | static_cast<unsigned char>(one);
        all.emplace_back(id_in(records.substr(0, 16)), number);
    }
    return all;
}

claim_id id_in_hex(std::string_view hex) {
    claim_id read{};
    if (hex.size() != 32) return read;
    for (std::size_t i = 0; i < 2; ++i) {
        const char* from = hex.data() + 16 * i;
        std::from_chars(from, from + 16, read.bits[i], 16);
    }
    return read;
}

std::optional<row_line> row_line::of(const result& answer, std::int64_t most_rows) {
    row_line line;
    for (const values& row : answer.rows) {
        if (row.size() != columns) return std::nullopt;
        if (std::holds_alternative<std::monostate>(row[id])) {
            line.floor = static_cast<std::uint64_t>(number_in(row[seq]));
        } else {
            line.entries.push_back(entry_of(row));
        }
    }
    std::ranges::sort(line.entries, {}, [](const row_entry& one) { return one.at.stands_at(); });
    // clang 14 cannot compile std::ranges::unique of libstdc++ 12.
    const auto same = [](const row_entry& one, const row_entry& other) { return one.at.id == other.at.id; };
    line.entries.erase(std::unique(line.entries.begin(), line.entries.end(), same), line.entries.end());
    const auto in_line =
        std::ranges::count_if(line.entries, [](const row_entry& one) { return !one.at.to_be_exchanged(); });
    line.missing_before = in_line > most_rows;
    return line;
}

const row_entry* row_line::find(const claim_id& wanted) const {
    const auto it = std::ranges::find(entries, wanted, [](const row_entry& one) { return one.at.id; });
    return it != entries.end() ? &*it : nullptr;
}

std::vector<base::line_entry> row_line::shape() const {
    std::vector<base::line_entry> all;
    for (const row_entry& one : entries) all.push_back(one.at);
    return all;
}

// What the server has confirmed holds, whatever else there is. It confirms whatever holds while no exchange goes before it: so in a
// long line a claim that it has not confirmed waits.
std::optional<base::line_verdict> row_line::verdict_of(const claim_id& mine) const {
    const row_entry* own = find(mine);
    if (own != nullptr && own->confirmed && !own->at.to_be_exchanged())
        return base::line_verdict{.is = base::line_verdict::verdict::holds, .capacity = own->at.capacity};
    const auto all = shape();
    if (!missing_before) return base::judge(all, mine, floor);
    const bool in_order = own != nullptr && own->at.place == 0 && floor < own->at.arrived &&
                          own->at.capacity == all.front().capacity &&
                          std::ranges::none_of(all, &base::line_entry::to_be_exchanged);
    const auto at = std::ranges::find(all, mine, &base::line_entry::id);
    if (in_order && at != all.begin() && at != all.end())
        return base::line_verdict{.is = base::line_verdict::verdict::waits,
                                  .watch = {std::prev(at)->id},
                                  .capacity = own->at.capacity,
                                  .holder = all.front().id};
    const base::line_part part{
        .end = std::span{all}.subspan(1), .first = all.front(), .missing_before = true, .missing_after = true};
    return base::judge_part(part, mine, floor);
}

spi::standing row_line::standing_of(const base::line_verdict& verdict) const {
    spi::standing now;
    if (verdict.place > 0) now.place = verdict.place;
    const row_entry* first = verdict.holder ? find(*verdict.holder) : nullptr;
    if (first == nullptr) return now;
    now.holder = first->owner;
    spi::duration longest{};
    for (const row_entry& one : entries)
        if (one.confirmed) longest = std::max(longest, one.left);
    if (longest > spi::duration{}) now.free_in = longest;
    return now;
}

}  // namespace mortise::inline v0::stores::sql
