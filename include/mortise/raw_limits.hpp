// What a store costs without us: the bare primitives that its locks are measured beside.
#pragma once

#include <mortise/config.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::inline v0 {

// One thread's end of a bare primitive. Not a lock to build on: nothing is renewed, fenced or promised. What the verbs do
// depends on the kind (raw_limit::kind). They block, and throw std::system_error when the primitive fails.
class MORTISE_API raw_end {
public:
    virtual ~raw_end();
    virtual void lock() = 0;
    virtual void unlock() = 0;
};

struct raw_limit {
    enum class kind {
        lock,   // the ends at one place exclude each other: flock(2), a mutex, the server's own lock function
        trips,  // nobody is excluded: lock() and unlock() are a bare request and its answer each
        turns,  // two ends, side 0 and side 1, pass one turn to and fro: lock() waits for it, unlock() gives it to the
                // other side, by the store's own push. Side 0 has it first. An end that goes leaves the turn to whoever
                // is left.
    };
    std::string name;  // "flock(2)", "bare script"
    kind is = kind::lock;

    // Ends that were opened at the same place meet, from every process that the store reaches. A place is a word of at
    // most 100 letters, digits, dots and dashes. Throws mortise::error (invalid_name, unreachable, exhausted). May be
    // called after the client is gone, and in a child of fork; an end is used in the process that opened it.
    std::function<std::unique_ptr<raw_end>(const std::string& place, unsigned side)> open{};

    // Removes what opening left behind at a place. Call it when all ends there are gone; never throws.
    std::function<void(const std::string& place)> clear{};
};

// What the store itself has spent since it was started, as far as it counts.
struct store_usage {
    std::optional<std::uint64_t> commands{};              // answered, to everybody
    std::optional<std::chrono::nanoseconds> processor{};  // used by its server
    std::optional<std::uint64_t> memory{};                // bytes taken by its state
};

struct raw_limits {
    std::vector<raw_limit> all{};

    // Asks now. As raw_limit::open with regard to errors, clients and fork.
    std::function<store_usage()> usage{};
};

}  // namespace mortise::inline v0
