// Baselines: a store's own primitives, used without Mortise, that `mortise bench` measures our locks against. They are no
// part of the library: the target mortise_baselines holds them, for the command and the tests.
#pragma once

#include <mortise/config.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::inline v0 {

// One thread's end of a baseline. Not a lock to build on: nothing is renewed, fenced or promised. What the verbs do
// depends on the kind (baseline::kind). They block, and throw std::system_error if the primitive fails.
class baseline_end {
public:
    virtual ~baseline_end();
    virtual void lock() = 0;
    virtual void unlock() = 0;
};

struct baseline {
    enum class kind {
        lock,        // the ends at one place exclude each other: flock(2), a mutex, the server's own lock function
        round_trip,  // nobody is excluded: lock() and unlock() are one request and its reply each
        trip,        // likewise, with the plainest request that the server knows: what the way there and back costs
        commit,  // likewise, with a change that is on disk when it is answered: what outlives a crash cannot cost less.
                 // unlock() does nothing
        ping_pong,  // two ends, side 0 and side 1, pass one turn to and fro: lock() waits for it, unlock() gives it to
                    // the other side by the store's own push. Side 0 has it first. When an end is destroyed, the turn
                    // stays with the other.
    };
    std::string name;  // "flock(2)", "scripts alone"
    kind is = kind::lock;

    // Ends opened at the same place meet, from every process that the store reaches; check_baseline_place says what a place
    // is. Throws mortise::error (invalid_name, unreachable, exhausted). May be called in a child of fork; an end is used in
    // the process that opened it.
    std::function<std::unique_ptr<baseline_end>(const std::string& place, unsigned side)> open{};

    // Removes what opening left behind at a place. Call it when all ends there are gone; never throws.
    std::function<void(const std::string& place)> clear{};
};

// What the store's servers have used since they were started, as far as they count it.
struct store_usage {
    std::optional<std::uint64_t> commands{};              // answered, to all clients
    std::optional<std::chrono::nanoseconds> processor{};  // processor time of the servers
    std::optional<std::uint64_t> memory{};                // bytes of their state
};

struct baselines {
    // A store that has any has one of kind `lock` or `round_trip`, to compare a lock with, and one of kind `ping_pong`, to
    // compare a hand-over with. One that is asked over a network has one of kind `trip`; one whose grants are on disk has
    // one of kind `commit`, and its hand-over is compared with that.
    std::vector<baseline> all{};

    // Asks the servers now. As baseline::open with regard to errors and fork.
    std::function<store_usage()> usage = [] { return store_usage{}; };
};

// Throws errc::invalid_name unless it is 1 to 100 ASCII letters, digits, dots and dashes.
void check_baseline_place(std::string_view place);

}  // namespace mortise::inline v0
