// The claims of a client that wait, name by name: which of them is next, and until when none of them was granted. Pure.
#pragma once

#include "stores/sql/row_claim.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace mortise::inline v0::stores::sql {

class row_waiters {
public:
    void add(const row_claim& claim);
    void remove(const row_claim& claim);
    bool empty() const noexcept { return names_.empty(); }

    // Of each name, the first: what is behind it is not granted before. And all that wait to replace a hold.
    std::vector<claim_id> firsts() const;

    std::optional<claim_id> first(const std::string& name) const;

    // The first few: when one is granted, another is next. And all that wait to replace a hold.
    std::vector<claim_id> nearest(const std::string& name) const;
    bool is_near(const row_claim& claim) const;

    // One of the firsts was found to wait by a statement that was sent at this time.
    void found_waiting(const row_claim& first, spi::time_point sent);
    // A time at which the claim was not granted yet.
    spi::time_point ungranted_at(const row_claim& claim) const;

    // So many of the same client are before it that what is known of it need not be fresh.
    bool far_back(const row_claim& claim) const;

private:
    struct line {
        std::map<std::uint64_t, claim_id> waiting{};  // by where they stand
        std::vector<claim_id> swaps{};
        std::uint64_t first = 0;      // this one and those behind it
        spi::time_point ungranted{};  // were not granted then
    };
    std::unordered_map<std::string, line> names_;
};

}  // namespace mortise::inline v0::stores::sql
