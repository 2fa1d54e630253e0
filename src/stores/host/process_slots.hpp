// Which processes are alive, as the kernel knows it.
#pragma once

#include <mortise/config.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>

#include <sys/types.h>

namespace mortise::inline v0::stores::host {

// The slot of a process: a number, and how often that number has been given out.
struct process_slot {
    std::uint32_t number = 0;
    std::uint32_t term = 0;
    friend bool operator==(const process_slot&, const process_slot&) = default;
};

// What the owner of a slot wrote about itself, in the shared header.
struct process_slot_record {
    std::atomic<std::uint32_t> term;
    std::atomic<std::int32_t> pid;         // in its own pid namespace
    std::atomic<std::uint64_t> pid_space;  // which namespace that is
};

// Every process holds a POSIX record lock on one byte, far beyond the end, of the shared file, which it never closes. The
// kernel drops the lock when the process ends, however it ends; a child of fork does not inherit it; it is visible across pid
// namespaces and users. That alone decides who is alive; nothing here trusts a process number.
//
// A process that only reads needs no slot of its own. It borrows one more, the reader slot, which readers use in turn.
class process_slots {
public:
    static constexpr std::uint32_t count = 1024;

    // The words of the shared header.
    struct shared_part {
        process_slot_record* records;
        process_slot_record& reader;
        std::atomic<std::int64_t>& next_search;  // on the boot clock: when a waiting process may next search
    };

    process_slots(int file, const shared_part& shared, std::string directory);
    process_slots(const process_slots&) = delete;
    process_slots& operator=(const process_slots&) = delete;

    // Takes a free slot. Throws temporary_error (errc::exhausted) if all are taken. Of the processes that can wait, one at a
    // time searches, a few times a second: each search asks the kernel for a thousand bytes.
    enum class urgency { now, can_wait };
    void acquire(urgency when);
    bool acquired() const noexcept { return acquired_.load(std::memory_order_acquire); }

    // For a process without a slot. Throws temporary_error if other readers take that long.
    void begin_read(std::chrono::milliseconds at_most);
    void end_read() noexcept;

    // Whether any process but this one has a slot in the file, or reads.
    static bool in_use(int file) noexcept;
    // How many slots are taken, this process's included.
    std::uint32_t taken() const noexcept;

    process_slot mine() const noexcept { return mine_; }
    bool alive(const process_slot& slot) const noexcept;

    // How the ledger's lock names its owner, in 32 bits: taken, 10 of the slot, 20 of its term, and whether somebody waits.
    std::uint32_t word() const noexcept { return word_of(mine_); }
    static constexpr std::uint32_t reader_word =
        ~std::uint32_t{1};  // no slot is given the term that would make this word
    process_slot slot_in(std::uint32_t word) const noexcept;

    // As if this slot had been taken that often.
    void set_term_for_test(std::uint32_t term) noexcept { shared_.records[mine_.number].term.store(term); }

    // "pid 4711", or "a process of another pid namespace".
    std::string describe(const process_slot& slot) const;

    // Whether the kernel says so; false for a process of another pid namespace.
    bool stopped(const process_slot& slot) const;

    // Its pid in our namespace, or 0 if it is in another one.
    pid_t pid_here(const process_slot& slot) const noexcept;

private:
    static constexpr process_slot reader_slot{count, 0};

    static std::uint32_t word_of(const process_slot& slot) noexcept;
    bool take(std::uint32_t number);
    bool may_search(urgency when) noexcept;
    void describe_self_in(process_slot_record& record) const noexcept;
    const process_slot_record* record_of(const process_slot& slot) const noexcept;

    int file_;  // not ours to close
    shared_part shared_;
    std::string directory_;
    std::atomic<bool> acquired_{false};
    process_slot mine_{};
    std::uint64_t my_space_ = 0;
};

}  // namespace mortise::inline v0::stores::host
