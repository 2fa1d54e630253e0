// One line of a history: what a process did to a lock, or what was done to the processes.
//
// A record is 64 bytes, so that a log is an array that a process fills and that survives it. The word that makes a record
// complete, its time, is written last: a process killed in the middle leaves a hole, never a lie.
#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

namespace mortise::checker {

// What the record is about. Those of a holder come first; then those of a fenced resource; then those of whoever makes trouble.
enum class act : std::uint8_t {
    none,
    acquire,   // ok: token and valid_until; weight and capacity say of what kind
    reenter,   // ok: token, by the attempt that holds already
    valid,     // ok: the hold was seen to be valid at this time; lost: it was seen not to be
    release,   // ok: held to the end; lost: the lease had expired before
    seal,      // of a resource
    read,      // ok: value is the id of the write that was read
    write,     // value is the id of this write, prior the one that it was made from
    fault,     // invoke: it strikes; ok: it bit; fail: it did not; value is its number
    heal,      // of a fault: invoke, then ok. Without a number, of all: from here on there are none
    truth,     // the store was asked who holds: invoke and ok; between them one `holder` for each
    holder,    // of a truth, by its op: lock and token
    leftover,  // after the end: value things were left in the store
    queued,    // the store has put a claim in line; of whichever attempt of this process was under way then
    unqueued,  // of the same: it has lost its place, and asks anew
};

enum class phase : std::uint8_t { invoke, ok, fail, unknown, lost };

inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

struct record {
    std::int64_t at = 0;  // nanoseconds of CLOCK_BOOTTIME, of the kernel and not of a library; 0: not written
    std::uint32_t pid = 0;
    std::uint32_t tid = 0;
    std::uint64_t op = 0;  // unique in its process; of an invoke and of what ends it
    std::uint32_t lock = 0;
    act what = act::none;
    phase is = phase::invoke;
    std::uint8_t weight = 1;
    std::uint8_t capacity = 1;
    std::uint64_t attempt = 0;  // the op of the acquire, for all that is done under its hold
    std::uint64_t token = 0;
    std::int64_t valid_until = 0;  // `never`: without a lease
    std::uint64_t value = 0;

    // The write that a write was made from; only a resource has no use for valid_until.
    std::uint64_t prior() const noexcept { return static_cast<std::uint64_t>(valid_until); }
};
static_assert(sizeof(record) == 64);

std::string_view to_string(act) noexcept;
std::string_view to_string(phase) noexcept;

// Nanoseconds of CLOCK_BOOTTIME by a system call, past every library that may bend clocks.
std::int64_t raw_now() noexcept;

}  // namespace mortise::checker
