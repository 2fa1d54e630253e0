// The claims of a client that are to leave, name by name: one statement a name is under way, and takes all along that have come
// meanwhile. Pure.
#pragma once

#include "base/queued_claim.hpp"
#include "stores/sql/row_claim.hpp"
#include "stores/sql/statement.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace mortise::inline v0::stores::sql {

class row_removals {
public:
    struct removal {
        row_claim_ptr claim;
        base::queued_claim::ticket of;
        std::int64_t mark;
    };

    // True: none is under way for its name, and begin() is to be sent.
    bool add(removal one);
    // The records of the next statement; empty if nothing is to leave.
    std::string begin(const std::string& name);
    // Those that were in the statement. begin() may follow.
    std::vector<removal> end(const std::string& name);

private:
    struct line {
        std::vector<removal> sent{};
        std::vector<removal> waiting{};
    };
    std::unordered_map<std::string, line> names_;
};

// See row_dialect::leave.
std::string removal_record(const claim_id& id, std::int64_t mark);

struct removal_answer {
    explicit removal_answer(const result& answer);
    bool was_there(std::size_t which) const { return digit(2 * which); }
    bool took_place(std::size_t which) const { return digit(2 * which + 1); }

    bool others = false;
    std::vector<std::pair<claim_id, std::uint64_t>> granted{};  // of this client, with their numbers

private:
    bool digit(std::size_t at) const { return at < digits_.size() && digits_[at] == '1'; }
    std::string digits_{};
};

}  // namespace mortise::inline v0::stores::sql
