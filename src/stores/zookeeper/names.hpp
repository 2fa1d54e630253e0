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

// A node of a line.
struct node_name {
    std::string name;
    base::line_entry entry;
    std::uint32_t stands_at = 0;  // as the servers count
};

// All that is to be known of an entry stands in its node's name, so one listing tells the whole line:
//     <id>-<capacity>-<weight>-<number that the servers append>
//     <id>-<capacity>-<weight>-i<id of a hold whose place it is to take>-<number>
//     <id>-<capacity>-<weight>-p<where that one stood>-<number>                     once it has
// Or, as Apache Curator and others write them:
//     _c_<id>-lock-<number>           InterProcessMutex
//     _c_<id>-__READ__<number>        InterProcessReadWriteLock
//     _c_<id>-__WRIT__<number>
class naming {
public:
    enum class protocol { own, curator };
    naming(std::string root, protocol how) : root_(std::move(root)), how_(how) {}

    // The node of a name. Our own protocol escapes all bytes that a path cannot have: 'a' and 'a/b' are neighbours, and two
    // names never meet. Curator's takes names literally.
    std::string line(std::string_view name) const;

    // The name behind a child of the root.
    std::optional<std::string> name(std::string_view part) const;

    // What a name or a claim must not be, for people; empty if it may.
    std::string objection(std::string_view name, const base::line_entry& claim) const;

    // The node's name, but for the number.
    std::string prefix(const base::line_entry& of, std::optional<std::uint32_t> stands_at = {}) const;
    std::optional<node_name> read(std::string_view node) const;

    // The nodes of a line, in no order; what is none is left out. The servers' numbers are of 32 bits and wrap around: of those
    // that live at the same time the distances are small. In the entries they can be compared.
    std::vector<node_name> read_line(std::span<const std::string> nodes) const;

private:
    const std::string root_;
    const protocol how_;
};

// The entries alone, for base::judge.
std::vector<base::line_entry> entries_of(std::span<const node_name> line);

const node_name* find(std::span<const node_name> line, const claim_id& id);

}  // namespace mortise::inline v0::stores::zookeeper
