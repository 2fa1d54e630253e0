// Operations and holds: what the records of a run amount to. Everything that judges begins here.
#pragma once

#include "checker/history/record.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace mortise::checker {

// The records of all processes, by time.
struct history {
    std::vector<record> records{};
    std::size_t torn = 0;  // records that a killed process had begun
    bool full = false;     // a log had no room: records are missing, and a verdict would be about something else
};

history merged(const std::vector<std::string>& files);
history sorted(std::vector<record> records);  // of a test

// An invoke and what ended it. Without an end, as when its process was killed, it is unknown: it may have happened or not, at
// any time since.
struct operation {
    act what = act::none;
    phase is = phase::unknown;  // ok, fail, unknown or lost
    std::uint32_t pid = 0;
    std::uint32_t lock = 0;
    std::uint8_t weight = 1;
    std::uint8_t capacity = 1;
    std::uint64_t op = 0;
    std::uint64_t attempt = 0;
    std::uint64_t token = 0;
    std::int64_t invoked = 0;
    std::int64_t ended = never;  // `never` if unknown: it may still happen
    std::int64_t answered =
        never;  // when its caller went on, whatever it was told; `never`: it still waits, or is dead
    std::int64_t valid_until = 0;
    std::uint64_t value = 0;

    bool excludes(const operation& other) const noexcept { return unsigned{weight} + other.weight > capacity; }
};

// By the time of their invoke.
std::vector<operation> operations_of(const history& all);

// A grant, and for how long it is known to have been held. valid() is true from the grant until the hold ends, so it was true at
// all times between the grant and the last time it was seen to be.
struct hold_span {
    operation grant;
    std::int64_t valid_to = 0;   // last seen to be valid; the time of the grant if never
    std::int64_t left = never;   // when its release was called
    std::int64_t gone = never;   // when the release was answered
    phase end = phase::unknown;  // ok: released while held; lost; unknown
    // When the store was asked for the grant: of a turn that the client of a kept lock took by itself, that was at an earlier one.
    std::int64_t since = 0;
    std::vector<operation> reentries{};

    bool taken_without_store() const noexcept { return since < grant.invoked; }
};

// Of all acquires that were granted, by the time of the grant.
std::vector<hold_span> holds_of(const history& all, const std::vector<operation>& operations);

}  // namespace mortise::checker
