// What a segment of stock keeps, as text. Pure.
//
// What lies scattered is moved in three steps, each under the lock of one segment, so that nobody waits for two and a death in
// between loses nothing:
//
//   1. at the sender    the amount goes from `amount` to `outgoing`, with the next number
//   2. at the receiver  it is added, unless this number of that sender has been; the number is noted
//   3. at the sender    `outgoing` is emptied, if it still has that number
//
// Whoever finds something outgoing does 2 and 3. The total of all segments is the amounts, and what is outgoing and has not
// been noted by its receiver.
#pragma once

#include <mortise/config.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::inline v0::patterns {

struct stock_segment {
    struct transfer {
        std::uint64_t number = 0;
        std::int64_t count = 0;
        std::size_t to = 0;

        friend bool operator==(const transfer&, const transfer&) = default;
    };

    std::int64_t amount = 0;
    std::uint64_t sent = 0;                 // the number of its last transfer
    std::optional<transfer> outgoing{};     // that is not known to have arrived
    std::vector<std::uint64_t> received{};  // the number of the last transfer of each segment

    explicit stock_segment(std::size_t segments = 0) : received(segments) {}

    transfer send(std::int64_t count, std::size_t to);
    void receive(std::size_t from, const transfer& what);
    void sent_well(const transfer& what);
    bool has_received(std::size_t from, const transfer& what) const { return received[from] >= what.number; }

    // Nothing has been moved to or from here since.
    bool moved_as(const stock_segment& other) const { return sent == other.sent && received == other.received; }

    std::string packed() const;
    // Throws errc::invalid_option if it was not packed() of as many segments.
    static stock_segment unpacked(std::string_view text, std::size_t segments);

    friend bool operator==(const stock_segment&, const stock_segment&) = default;
};

std::int64_t total_of(const std::vector<stock_segment>& all);

}  // namespace mortise::inline v0::patterns
