// Blocks in a file that processes share, right when a process is killed at any instruction.
//
//   header | wait slots | ended ids | 16384 buckets | blocks of 512 bytes: a name, a claim, or free
//
// Everything is changed in place, under one lock. Each word's old value goes to a journal before the word is changed; when
// all is done the journal is emptied. A process that was killed halfway leaves its journal behind, and whoever takes the lock
// next puts the old values back: nothing happened. The stores of a killed process up to its last instruction all count, and
// none after it, so the compiler's order is all that matters, and nothing needs to be synced.
//
// The lock is a futex word that names its owner's seat (seats.hpp), not a robust pthread mutex: those know owners by thread
// number, which means nothing across pid namespaces. A dead owner is noticed by its seat and replaced; one that the kernel
// says is stopped is waited for with a deadline, and then named in the error.
//
// Nothing in the file is trusted: a number that leads outside, to a block of another kind or in a circle makes the ledger
// `damaged`. From then on blocks read as zeros, nothing is committed, and whoever asked is told. A file that is cut short under
// the mapping comes to the same (bus_guard.hpp).
//
// format.hpp has the layout; ledger.cpp the file and its journal; lock.cpp its lock; access.cpp what is in the blocks; opened.cpp
// which ledgers a process has open.
#pragma once

#include "base/lock_rules.hpp"
#include "stores/host/place.hpp"
#include "stores/host/seats.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/error.hpp>
#include <mortise/spi/store.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace mortise::inline v0::stores::host {

// It may well work later: whoever can wait asks again.
class not_now : public error {
public:
    using error::error;
};

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

    std::string_view text() const noexcept { return {name, std::min<std::size_t>(name_size, sizeof name)}; }
};

struct claim_block : block_head {
    block_number previous;
    block_number of;  // the name
    claim_id id;
    claim_id instead_of;
    std::uint64_t session;
    std::uint32_t weight;
    std::uint32_t wait_slot;
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
    // of its file would drop this process's seat. Throws errc::unreachable, errc::exhausted; not_now when all seats are taken.
    static std::shared_ptr<ledger> open(const place& where, seats::hurry how = seats::hurry::now);

    // The same without a seat, for those who only look: they take turns on the visitors' seat, for as long as an access lasts.
    static std::shared_ptr<ledger> look_at(const place& where);

    // How long to wait for a process that keeps the lock and does not move.
    static constexpr std::chrono::milliseconds patience{2000};

    explicit ledger(const place& where);
    ~ledger();
    ledger(const ledger&) = delete;
    ledger& operator=(const ledger&) = delete;

    // Exclusive access for as long as it lives. What was changed since the last commit() is undone at its end, as if the
    // process had been killed. Throws errc::unreachable when the file is damaged, or naming the process that is stopped inside;
    // not_now if one that is not stopped keeps the lock for longer than `at_most`. With the full patience that is only one
    // that has not moved for ten times as long.
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
        const claim_block* claim_at(block_number n) const noexcept;  // null: there is none

        // The neighbours in a list of claims; 0 at its ends.
        block_number first(const claim_list& of) noexcept;
        block_number last(const claim_list& of) noexcept;
        block_number after(block_number claim) noexcept;
        block_number before(block_number claim) noexcept;

        // Whether the client it belongs to said that it is gone.
        bool left(block_number claim) noexcept;

        // Of what was found and done so far. The second throws errc::unreachable if it is not.
        bool sound() const noexcept;
        void must_be_sound() const;

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

        void broken() noexcept;

        ledger& of_;
        std::unique_lock<std::mutex> here_;
        bool visiting_ = false;
        bool freed_ = false;  // since the last commit
    };

    // A futex word for callers that sleep; others may sleep on it too.
    std::atomic<std::uint32_t>& wait_slot(std::uint32_t number) noexcept;
    // Returns after a while also if nobody wakes it (false): a file that is cut short takes its sleepers along.
    static bool sleep(std::atomic<std::uint32_t>& wait_slot, std::uint32_t seen) noexcept;
    static bool wake(std::atomic<std::uint32_t>& wait_slot) noexcept;  // false: nobody slept

    // Throws errc::unreachable if the file is no longer where others would find it, or no longer what it was.
    void check_in_place() const;
    bool damaged() const noexcept { return damaged_ || torn_; }

    bool alive(const seat& who) const noexcept;

    // The client that this claim belongs to leaves and cannot get at the ledger to end it. Needs no lock: the claim's id is
    // written beside it, and whoever meets it compares the two. If the block has another claim by now, nothing happens.
    void leave_behind(block_number claim, const claim_id& id) noexcept;

    host::seats& seats() const noexcept { return *seats_; }
    const std::string& directory() const noexcept { return where_.directory; }
    std::uint64_t blocks_in_use() const noexcept;

private:
    struct header;
    using segment = std::atomic<unsigned char*>;

    static std::shared_ptr<ledger> opened(const place& where);
    void map(int directory_fd);
    unsigned char* map_part(std::uint64_t at, std::uint64_t size);
    void unmap() noexcept;
    bool usable() const;
    void make();
    void make_room(std::uint64_t from, std::uint64_t to) const;
    void reach();
    void reach(std::uint32_t blocks);
    bool is_ours(int descriptor) const noexcept;
    void begin_anew();
    [[noreturn]] void fail(errc code, const std::string& what) const;
    [[noreturn]] void fail_damaged() const;

    void take(std::uint32_t me, std::chrono::milliseconds at_most);
    void take_slowly(std::uint32_t me, std::chrono::milliseconds at_most);
    std::chrono::steady_clock::duration not_moving_for() noexcept;
    void give_back() noexcept;

    void note(void* word, std::size_t size) noexcept;
    unsigned char* at(std::uint64_t offset, std::size_t size) const noexcept;
    void commit() noexcept;
    void undo() noexcept;
    void grow();

    header& head() const noexcept { return *reinterpret_cast<header*>(front_); }
    block_head* block(block_number n) noexcept;
    block_head* block_at(block_number n) const noexcept;
    std::uint32_t* buckets() const noexcept;

    place where_;
    int directory_ = -1;
    int file_ = -1;
    dev_t device_ = 0;  // of the file, should its descriptor become another's
    ino_t inode_ = 0;
    unsigned char* front_ = nullptr;  // all that stands before the blocks
    std::array<segment, 64> segments_{};
    std::atomic<std::uint32_t> reachable_{0};  // so many blocks are mapped
    alignas(8) std::array<unsigned char, 512> nowhere_{};
    std::atomic<bool> damaged_{false};
    mutable std::atomic<bool> torn_{false};  // also set by the bus_guard
    std::unique_ptr<host::seats> seats_;
    std::mutex threads_;  // of this process, before they compete with others
    std::uint64_t seen_turns_ = 0;
    std::chrono::steady_clock::time_point seen_since_{};
};

}  // namespace mortise::inline v0::stores::host
