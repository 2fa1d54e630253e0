// A line of claims, as it was read from the table.
#pragma once

#include "base/line.hpp"
#include "stores/sql/statement.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/holder.hpp>
#include <mortise/spi/store.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mortise::inline v0::stores::sql {

// Of a longer line so many rows are read before one's own; more if these do not tell.
inline constexpr std::int64_t near_rows = 8;
inline constexpr std::int64_t all_rows = std::int64_t{1} << 40;

struct row_entry {
    base::line_entry at{};
    bool confirmed = false;
    bool kept = false;  // its client keeps it while it is idle, until it is told
    spi::duration left{};
    mortise::holder owner{};
};

struct row_line {
    std::uint64_t floor = 0;
    std::vector<row_entry> entries{};  // as they stand
    bool missing_before = false;       // between the first and the others

    // None if an answer cannot be read.
    static std::optional<row_line> of(const result& answer, std::int64_t most_rows);

    const row_entry* find(const claim_id& id) const;
    // None if more of the line has to be read.
    std::optional<base::line_verdict> verdict_of(const claim_id& mine) const;
    std::vector<base::line_entry> shape() const;
    spi::standing standing_of(const base::line_verdict& verdict) const;
};

// The bytes of an id, and back; zero if they are not one.
std::string bytes_of(const claim_id& id);
claim_id id_in(std::string_view bytes);
claim_id id_in(const value& bytes);
std::vector<claim_id> ids_in(const result& answer);  // of the first column: one a row, or several
std::vector<std::pair<claim_id, std::uint64_t>> numbered_ids_in(std::string_view records);  // 16 and 8 bytes each
claim_id id_in_hex(std::string_view hex);

}  // namespace mortise::inline v0::stores::sql
