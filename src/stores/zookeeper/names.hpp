// Where a lock lies, and what the name of a node in its line says. Pure.
#pragma once

#include "base/line.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::inline v0::stores::zookeeper {

// ROOT/name, with all bytes escaped that a path cannot have: 'a' and 'a/b' are neighbours, and two names never meet.
std::string path_of(std::string_view root, std::string_view name);

// The name behind the last part of such a path.
std::optional<std::string> name_of(std::string_view part);

// All that is to be known of an entry stands in its node's name, so one listing tells the whole line:
//     <id>-<capacity>-<weight>-<number that the servers append>
//     <id>-<capacity>-<weight>-i<id of a hold whose place it is to take>-<number>
//     <id>-<capacity>-<weight>-p<where that one stood>-<number>                     once it has
// This is the part before that number.
std::string entry_prefix(const base::line_entry& of, std::optional<std::uint32_t> stands_at = {});

// A node of a line.
struct node_name {
    std::string name;
    base::line_entry entry;
    std::uint32_t stands_at = 0;  // as the servers count
};
std::optional<node_name> read_entry(std::string_view name);

// The nodes of a line, in no order; what is none of ours is left out. The servers' numbers are of 32 bits and wrap around:
// of those that live at the same time the distances are small. In the entries they can be compared.
std::vector<node_name> line_of(std::span<const std::string> names);

// The entries alone, for base::judge.
std::vector<base::line_entry> entries_of(std::span<const node_name> line);

const node_name* find(std::span<const node_name> line, const claim_id& id);

}  // namespace mortise::inline v0::stores::zookeeper
