// The path of a lock, and the names of the nodes in its line. Pure.
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
    std::uint32_t stands_at = 0;  // its sequence number, or that of the hold whose place it took
};

// The name of a node says everything about its entry, so one listing gives the whole line:
//     <id>-<capacity>-<weight>-<sequence number>
//     <id>-<capacity>-<weight>-i<id of a hold whose place it is to take>-<sequence number>
//     <id>-<capacity>-<weight>-p<where that hold stood>-<sequence number>               once it has
// Or, as Apache Curator and others write them:
//     _c_<id>-lock-<sequence number>           InterProcessMutex
//     _c_<id>-__READ__<sequence number>        InterProcessReadWriteLock
//     _c_<id>-__WRIT__<sequence number>
class naming {
public:
    enum class protocol { own, curator };
    naming(std::string root, protocol kind) : root_(std::move(root)), protocol_(kind) {}

    // The path of a name's line. Our own protocol escapes all bytes that a path element cannot have: 'a' and 'a/b' are
    // siblings, and no two names have the same path. Curator's takes names as paths.
    std::string line(std::string_view name) const;

    // The name that a child of the root stands for.
    std::optional<std::string> name(std::string_view part) const;
    // Whether a child of a line that is no node of it leads to a name further below.
    bool nests() const noexcept { return protocol_ == protocol::curator; }

    // Why a claim on a name is not possible, for people; empty if it is.
    std::string objection(std::string_view name, const base::line_entry& claim) const;

    // The node's name without the sequence number.
    std::string prefix(const base::line_entry& of, std::optional<std::uint32_t> stands_at = {}) const;
    std::optional<node_name> read(std::string_view node) const;

    // The nodes of a line, unordered, without nodes that are not ours to read. Sequence numbers have 32 bits and wrap around, but
    // those in use at the same time are close together. `arrived` and `place` of the entries can be compared.
    std::vector<node_name> read_line(std::span<const std::string> nodes) const;

private:
    const std::string root_;
    const protocol protocol_;
};

// The entries alone, for base::judge.
std::vector<base::line_entry> entries_of(std::span<const node_name> line);

const node_name* find(std::span<const node_name> line, const claim_id& id);

}  // namespace mortise::inline v0::stores::zookeeper
