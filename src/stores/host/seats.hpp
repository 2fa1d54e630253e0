// Which processes are alive, from the kernel.
#pragma once

#include <mortise/config.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include <sys/types.h>

namespace mortise::inline v0::stores::host {

// A process's seat: a number, and how often that number was given out.
struct seat {
    std::uint32_t number = 0;
    std::uint32_t term = 0;
    friend bool operator==(const seat&, const seat&) = default;
};

// What a seat's occupant wrote about itself, in the shared header.
struct seat_record {
    std::atomic<std::uint32_t> term;
    std::atomic<std::int32_t> pid;         // in its own pid namespace
    std::atomic<std::uint64_t> pid_space;  // which namespace that is
};

// Every process holds a POSIX record lock on one byte, far behind the end, of the shared file, which it never closes. The
// kernel drops the lock when the process ends, however it ends; a child of fork does not inherit it; it is seen across pid
// namespaces and users. That is the truth about who is alive; nothing here trusts a process number.
class seats {
public:
    static constexpr std::uint32_t count = 1024;

    // Takes a free seat. Throws errc::exhausted when all are taken.
    seats(int file, seat_record* records, const std::string& directory);
    seats(const seats&) = delete;
    seats& operator=(const seats&) = delete;

    // Whether any process but this one has a seat in the file.
    static bool anybody(int file) noexcept;

    seat mine() const noexcept { return mine_; }
    bool alive(const seat& who) const noexcept;

    // As if this seat had been taken so often.
    void set_term_for_test(std::uint32_t term) noexcept { records_[mine_.number].term.store(term); }

    // "pid 4711", or "a process of another pid namespace".
    std::string describe(const seat& who) const;

    // Whether a living process that has not moved for so long will not do so by itself: it is stopped, or cannot be looked at.
    // One that only waits for a processor is given ten times the patience.
    bool looks_stuck(const seat& who, std::chrono::nanoseconds not_moving_for, std::chrono::nanoseconds patience) const;

    // Its number here, or 0 when it is in another pid namespace.
    pid_t pid_here(const seat& who) const noexcept;

private:
    int file_;  // not ours to close
    seat_record* records_;
    seat mine_{};
    std::uint64_t my_space_ = 0;
};

}  // namespace mortise::inline v0::stores::host
