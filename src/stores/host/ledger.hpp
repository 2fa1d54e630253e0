// Blocks in a file that processes share, right when a process is killed at any instruction.
//
//   header | berths | ended ids | 16384 buckets | blocks of 512 bytes: a name, a claim, or free
//
// Everything is changed in place, under one lock. Each word's old value goes to a journal before the word is changed; when
// all is done the journal is emptied. A process that was killed halfway leaves its journal behind, and whoever takes the lock
// next puts the old values back: nothing happened. The stores of a killed process up to its last instruction all count, and
// none after it, so the compiler's order is all that matters, and nothing needs to be synced.
//
// The lock is a futex word that names its owner's seat (seats.hpp), not a robust pthread mutex: those know owners by thread
// number, which means nothing across pid namespaces. A dead owner is noticed by its seat and replaced; one that lives but
// does not move (stopped inside) is waited for with a deadline, and then named in the error.
//
// format.hpp has the layout; ledger.cpp the file, its lock and its journal; access.cpp what is in the blocks; opened.cpp which
// ledgers a process has open.
#pragma once

#include "base/lock_rules.hpp"
#include "stores/host/place.hpp"
#include "stores/host/seats.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace mortise::inline v0::stores::host {

// Which block, from 1; 0 is none.
using block_number = std::uint32_t;

// The ends of a list of claims.
struct claim_list {
    block_number first;
    block_number last;
    std::uint32_t count;
};

// The first words of every block.
struct block_head {
    enum kind : std::uint32_t { free, name, claim };
    std::uint32_t kind;
    block_number next;  // on the free list, in the bucket, or in the list of claims
};

// A name that is held or waited for.
struct name_block : block_head {
    claim_list holders;
    claim_list queue;
    std::uint32_t capacity;
    std::uint32_t name_size;
    std::uint64_t used;     // weight of the holders
    std::int64_t next_end;  // of their leases
    char name[200];

    std::string_view text() const noexcept { return {name, name_size}; }
};

struct claim_block : block_head {
    block_number previous;
    block_number of;  // the name
    claim_id id;
    claim_id instead_of;
    std::uint64_t session;
    std::uint32_t weight;
    std::uint32_t berth;
    std::uint32_t flags;
    std::int32_t pid;
    std::int64_t lease;  // 0: none
    std::uint64_t counter;
    std::int64_t since;
    std::int64_t ends;
    std::uint16_t label_size;
    std::uint16_t host_size;
    char text[300];  // label, host

    static constexpr std::uint32_t detached = 1;
};

class ledger {
public:
    // The ledger of a directory; one per process and directory, kept open until the process ends: closing any descriptor
    // of its file would drop this process's seat. Throws errc::unreachable, errc::exhausted.
    static std::shared_ptr<ledger> open(const place& where);

    // How long to wait for a process that keeps the lock and does not move.
    static constexpr std::chrono::milliseconds patience{2000};

    explicit ledger(const place& where);
    ~ledger();
    ledger(const ledger&) = delete;
    ledger& operator=(const ledger&) = delete;

    // Exclusive access for as long as it lives. What was changed since the last commit() is undone at its end, as if the
    // process had been killed. Throws errc::unreachable naming the process that does not let go, after `at_most`.
    class access {
    public:
        explicit access(ledger& of, std::chrono::milliseconds at_most = patience);
        ~access();
        access(const access&) = delete;
        access& operator=(const access&) = delete;

        // Whoever uses these and set() includes format.hpp.
        name_block& name(block_number n) noexcept;
        claim_block& claim(block_number n) noexcept;
        bool has(block_number n) const noexcept;

        // The only way to change a word of a block that is in use.
        template <class Word>
        void set(Word& word, std::type_identity_t<Word> value) noexcept;
        void commit() noexcept;
        // Where all is consistent, though the work may not be done: commits if the journal is getting full.
        void pause() noexcept;

        // A block of one's own to fill: what is written to it before it is linked in needs no journal. Throws
        // errc::exhausted when the disk is full.
        block_number allocate(std::uint32_t kind);
        void free(block_number n) noexcept;

        block_number find(std::string_view name) noexcept;
        block_number add(std::string_view name);
        void remove(block_number name) noexcept;  // it has no claims any more

        void append(claim_list& to, block_number claim) noexcept;
        void prepend(claim_list& to, block_number claim) noexcept;
        void unlink(claim_list& from, block_number claim) noexcept;

        void each(const std::function<void(block_number name)>& visit);

        // Whether every block is on exactly one chain; empty if so, else what is wrong. For tests and for a doctor.
        std::string problem();

        // Ids that ended lately, each in the one place it can be in; the next that belongs there takes it over.
        base::ended_claim& last_end(const claim_id& id) noexcept;
        void remember(const base::ended_claim& old) noexcept;

        // The highest token counter of any name.
        std::uint64_t last_counter() const noexcept;
        void raise_counter(std::uint64_t to) noexcept;

    private:
        std::uint32_t& bucket_of(std::string_view name) noexcept;

        ledger& of_;
        std::unique_lock<std::mutex> here_;
        bool freed_ = false;  // since the last commit
    };

    // A futex word for callers that sleep; others may sleep on it too.
    std::atomic<std::uint32_t>& berth(std::uint32_t number) noexcept;
    static void sleep(std::atomic<std::uint32_t>& berth, std::uint32_t seen) noexcept;
    static bool wake(std::atomic<std::uint32_t>& berth) noexcept;  // false: nobody slept

    // Throws errc::unreachable if the file is no longer where others would find it.
    void check_in_place() const;

    // Whether a client is there. One that leaves and cannot take its claims along gives up: then it is not.
    bool alive(const seat& who, std::uint64_t session) const noexcept;
    void give_up(std::uint64_t session) noexcept;

    host::seats& seats() noexcept { return *seats_; }
    const std::string& directory() const noexcept { return where_.directory; }
    std::uint64_t blocks_in_use() const noexcept;

private:
    struct header;

    void map(int directory_fd);
    bool is_ours(int descriptor) const noexcept;
    void begin_anew() noexcept;
    void take(std::chrono::milliseconds at_most);
    void take_slowly(std::uint32_t me, std::chrono::milliseconds at_most);
    std::chrono::steady_clock::duration not_moving_for() noexcept;
    void give_back() noexcept;
    void note(void* word, std::size_t size) noexcept;
    void commit() noexcept;
    void undo() noexcept;
    void grow();

    header& head() const noexcept;
    block_head* block(block_number n) const noexcept;
    std::uint32_t* buckets() const noexcept;

    place where_;
    int directory_ = -1;
    int file_ = -1;
    dev_t device_ = 0;  // of the file, should its descriptor become another's
    ino_t inode_ = 0;
    unsigned char* base_ = nullptr;
    std::unique_ptr<host::seats> seats_;
    std::mutex threads_;  // of this process, before they compete with others
    std::uint64_t seen_turns_ = 0;
    std::chrono::steady_clock::time_point seen_since_{};
};

}  // namespace mortise::inline v0::stores::host
