// The layout of the shared file. Builds that differ in it must not share a file: raise the version.
//
//   header | wait slots | ended ids | 16384 buckets | blocks of 512 bytes: a name, a claim, or free
#pragma once

#include "base/lock_rules.hpp"
#include "stores/host/process_slots.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
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
    spi::grant_word word;

    static constexpr std::uint32_t detached = 1;
    static constexpr std::uint32_t keeps = 2;  // it uses the word from its grant on

    bool has_word() const noexcept { return (flags & keeps) != 0 && counter != 0; }
};

struct file_header {
    char magic[24];
    std::uint32_t version;
    std::uint32_t block_size;
    std::array<char, 40> boot;
    std::atomic<std::uint32_t> lock;
    std::uint32_t total_blocks;
    block_number free_first;
    std::uint32_t free_blocks;
    std::uint64_t last_counter;
    std::atomic<std::uint64_t> turns;  // how often the lock was released: shows whether its owner makes progress
    std::uint32_t unused;
    std::atomic<std::int64_t> next_slot_search;
    process_slot_record reader;
    std::uint64_t unused_too[61];
    struct {
        std::uint32_t count;
        struct {
            std::uint32_t at;
            std::uint32_t size;
            std::uint64_t old;
        } words[64];
    } journal;
    process_slot_record slot_records[process_slots::count];
};

namespace format {

inline constexpr char magic[24] = "mortise host store\n";
inline constexpr std::uint32_t version = 4;
// Without the reader slot (2) and the words of grants (3), whose places are zeros; converted once no process uses it.
inline constexpr std::uint32_t oldest_convertible = 2;
inline constexpr std::uint32_t block_size = 512;
inline constexpr std::uint32_t wait_slot_count = 16384;
inline constexpr std::uint32_t end_count = 4096;
inline constexpr std::uint32_t bucket_count = 16384;
inline constexpr std::uint64_t wait_slots_at = 64 * 1024;
inline constexpr std::uint64_t ends_at = wait_slots_at + wait_slot_count * 4;
inline constexpr std::uint64_t buckets_at = ends_at + end_count * sizeof(base::ended_claim);
inline constexpr std::uint64_t blocks_at = buckets_at + bucket_count * 4;
inline constexpr std::uint64_t most_blocks = 2u << 20;  // 1 GiB of them
inline constexpr std::uint32_t first_blocks = 512;
inline constexpr std::uint32_t blocks_per_segment = 32 * 1024;  // 16 MiB, mapped as the file grows
inline constexpr std::uint64_t segment_size = std::uint64_t{blocks_per_segment} * block_size;
inline constexpr std::uint64_t abandoned_at = block_size - 8;  // in a claim's block: the mark of an abandoned claim

static_assert(sizeof(base::ended_claim) == 32);
static_assert(sizeof(spi::grant_word) == 16 && std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(sizeof(name_block) <= abandoned_at && sizeof(claim_block) <= abandoned_at);
static_assert(sizeof(file_header) <= wait_slots_at);

}  // namespace format

// A claim's id in one word: no two claims ever have the same id.
inline std::uint64_t mark_of(const claim_id& id) noexcept {
    return (id.bits[0] ^ id.bits[1] * 0x9e3779b97f4a7c15u) | 1;
}
inline std::atomic<std::uint64_t>& abandoned_mark(block_head* in) noexcept {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(reinterpret_cast<unsigned char*>(in) + format::abandoned_at);
}

// Keeps the compiler from reordering what a process that may be killed at any instruction has written.
inline void in_this_order() noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

}  // namespace mortise::inline v0::stores::host
