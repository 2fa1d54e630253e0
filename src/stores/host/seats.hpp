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
//
// Those who only look need no seat of their own. They take turns on one more, the visitors' seat.
class seats {
public:
    static constexpr std::uint32_t count = 1024;

    // What the shared header has for it.
    struct shared_part {
        seat_record* records;
        seat_record& visitor;
        std::atomic<std::int64_t>&
            next_search;  // on the boot clock: when one of those who wait may look for a free seat
    };

    seats(int file, const shared_part& shared, std::string directory);
    seats(const seats&) = delete;
    seats& operator=(const seats&) = delete;

    // Takes a free seat. Throws not_now (errc::exhausted) when all are taken. Of those that can wait only one at a time
    // looks, a few times a second: each look asks the kernel for a thousand bytes.
    enum class hurry { now, can_wait };
    void sit(hurry how);
    bool seated() const noexcept { return seated_.load(std::memory_order_acquire); }

    // For a process without a seat. Throws not_now if others visit for so long.
    void begin_visit(std::chrono::milliseconds at_most);
    void end_visit() noexcept;

    // Whether any process but this one has a seat in the file, or visits.
    static bool anybody(int file) noexcept;
    // How many of them are taken, this process's included.
    std::uint32_t taken() const noexcept;

    seat mine() const noexcept { return mine_; }
    bool alive(const seat& who) const noexcept;

    // How the ledger's lock names its owner, in 32 bits: taken, 10 of seat, 20 of its term, and whether somebody waits.
    std::uint32_t word() const noexcept { return word_of(mine_); }
    static constexpr std::uint32_t visitor_word =
        ~std::uint32_t{1};  // no seat is given the term that would be this one
    seat seat_in(std::uint32_t word) const noexcept;

    // As if this seat had been taken so often.
    void set_term_for_test(std::uint32_t term) noexcept { shared_.records[mine_.number].term.store(term); }

    // "pid 4711", or "a process of another pid namespace".
    std::string describe(const seat& who) const;

    // Whether the kernel says so. Not of a process that cannot be looked at.
    bool stopped(const seat& who) const;

    // Its number here, or 0 when it is in another pid namespace.
    pid_t pid_here(const seat& who) const noexcept;

private:
    static constexpr seat visitors{count, 0};

    static std::uint32_t word_of(const seat& who) noexcept;
    bool take(std::uint32_t number);
    bool may_search(hurry how) noexcept;
    void write_down(seat_record& record) const noexcept;
    const seat_record* record_of(const seat& who) const noexcept;

    int file_;  // not ours to close
    shared_part shared_;
    std::string directory_;
    std::atomic<bool> seated_{false};
    seat mine_{};
    std::uint64_t my_space_ = 0;
};

}  // namespace mortise::inline v0::stores::host
