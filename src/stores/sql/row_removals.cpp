#include "stores/sql/row_removals.hpp"

#include "stores/sql/row_line.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace mortise::inline v0::stores::sql {
namespace {

constexpr std::size_t most_removals = 500;  // in one statement

}  // namespace

bool row_removals::add(removal one) {
    line& of = names_[one.claim->name];
    of.waiting.push_back(std::move(one));
    return of.sent.empty();
}

std::string row_removals::begin(const std::string& name) {
    const auto found = names_.find(name);
    if (found == names_.end()) return {};
    line& of = found->second;
    const std::size_t count = std::min(of.waiting.size(), most_removals);
    const auto end = of.waiting.begin() + static_cast<std::ptrdiff_t>(count);
    of.sent.assign(of.waiting.begin(), end);
    of.waiting.erase(of.waiting.begin(), end);
    std::string records;
    for (const removal& one : of.sent) records += removal_record(one.claim->entry.id, one.mark);
    return records;
}

std::vector<row_removals::removal> row_removals::end(const std::string& name) {
    const auto found = names_.find(name);
    if (found == names_.end()) return {};
    std::vector<removal> sent = std::exchange(found->second.sent, {});
    if (found->second.waiting.empty()) names_.erase(found);
    return sent;
}

std::string removal_record(const claim_id& id, std::int64_t mark) {
    std::string record = bytes_of(id);
    for (int shift = 56; shift >= 0; shift -= 8)
        record.push_back(static_cast<char>(static_cast<std::uint64_t>(mark) >> shift));
    return record;
}

removal_answer::removal_answer(const result& answer) {
    if (!answer.how.ok() || answer.rows.empty() || answer.rows.front().size() < 3) return;
    const values& row = answer.rows.front();
    digits_ = bytes_in(row[0]);
    others = number_in(row[1]) != 0;
    granted = numbered_ids_in(bytes_in(row[2]));
}

}  // namespace mortise::inline v0::stores::sql
