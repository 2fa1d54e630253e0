// A small map from names to bytes in a shared file, right when a process is killed at any instruction.
//
//   header | 4096 buckets | blocks of 256 bytes, on chains: a name's record, its state, or free
//
// Everything is changed under one lock, and every change becomes visible in one step: new bytes are first written to
// blocks that nobody uses, then the few words that link them in are put into a journal, the journal is marked whole, the
// words are stored, the mark is taken off. Killed before the mark: nothing happened. Killed after it: whoever takes the
// lock next stores the words again. The file's pages outlive their writer, so nothing needs to be synced for that.
//
// The lock is a futex word that names its owner's seat (seats.hpp), not a robust pthread mutex: those know owners by thread
// number, which means nothing across pid namespaces. A dead owner is noticed by its seat and replaced; one that lives but
// does not move (stopped inside) is waited for with a deadline, and then named in the error.
#pragma once

#include "stores/host/place.hpp"
#include "stores/host/seats.hpp"

#include <mortise/config.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::inline v0::stores::host {

class ledger {
public:
    // The ledger of a directory; one per process and directory, kept open until the process ends: closing any descriptor
    // of the seats' file would drop this process's seat. Throws errc::unreachable, errc::exhausted.
    static std::shared_ptr<ledger> open(const place& where);

    explicit ledger(const place& where);
    ~ledger();
    ledger(const ledger&) = delete;
    ledger& operator=(const ledger&) = delete;

    // Exclusive access for as long as it lives. Throws errc::unreachable naming the process that does not let go.
    class access {
    public:
        explicit access(ledger& of);
        ~access();
        access(const access&) = delete;
        access& operator=(const access&) = delete;

        // The state of a name; empty if there is none.
        std::string read(std::string_view name) const;
        // Replaces it in one step; an empty state forgets the name. Throws errc::exhausted when the disk is full.
        void write(std::string_view name, std::string_view state);
        void each(const std::function<void(std::string_view name, std::string_view state)>& visit) const;

        // Whether every block is on exactly one chain; empty if so, else what is wrong. For tests and for a doctor.
        std::string problem() const;

        // Whether what is in here was written since the machine started; times are counted from then.
        bool of_this_boot() const;
        void mark_this_boot() noexcept;

        // The highest token counter of any name that was forgotten.
        std::uint64_t floor() const noexcept;
        void raise_floor(std::uint64_t counter) noexcept;

    private:
        ledger& of_;
        std::unique_lock<std::mutex> here_;
    };

    host::seats& seats() noexcept { return *seats_; }
    const std::string& directory() const noexcept { return where_.directory; }
    std::uint64_t blocks_in_use() const noexcept;

    // How long to wait for a process that keeps the lock and does not move.
    static constexpr std::chrono::milliseconds patience{2000};

private:
    struct header;
    struct change;
    struct spot;

    void map(int directory_fd);
    void take();
    std::chrono::steady_clock::duration not_moving_for() noexcept;
    void give_back() noexcept;
    void finish_journal() noexcept;
    void commit(const std::vector<change>& words) noexcept;
    void grow();
    spot find(std::string_view name) const;

    header& head() const noexcept;
    unsigned char* block(std::uint32_t index) const noexcept;
    std::uint32_t& word(std::uint64_t offset) const noexcept;
    std::uint64_t offset_of(std::uint32_t block, std::size_t field) const noexcept;

    place where_;
    int file_ = -1;
    unsigned char* base_ = nullptr;
    std::unique_ptr<host::seats> seats_;
    std::mutex threads_;  // of this process, before they compete with others
    std::uint64_t seen_turns_ = 0;
    std::chrono::steady_clock::time_point seen_since_{};
};

}  // namespace mortise::inline v0::stores::host
