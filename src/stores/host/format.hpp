// What stands where in the shared file, and how it is reached. Builds that differ in the layout must not share one: raise
// the version.
#pragma once

#include "stores/host/ledger.hpp"

#include <mortise/config.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace mortise::inline v0::stores::host {
namespace format {

inline constexpr char magic[24] = "mortise host store\n";
inline constexpr std::uint32_t version = 2;
inline constexpr std::uint32_t block_size = 512;
inline constexpr std::uint32_t berth_count = 16384;
inline constexpr std::uint32_t end_count = 4096;
inline constexpr std::uint32_t bucket_count = 16384;
inline constexpr std::uint64_t berths_at = 64 * 1024;
inline constexpr std::uint64_t ends_at = berths_at + berth_count * 4;
inline constexpr std::uint64_t buckets_at = ends_at + end_count * sizeof(base::ended_claim);
inline constexpr std::uint64_t blocks_at = buckets_at + bucket_count * 4;
inline constexpr std::uint64_t most_blocks = 2u << 20;  // 1 GiB of them
inline constexpr std::uint32_t first_blocks = 512;
inline constexpr std::uint64_t mapped = blocks_at + most_blocks * block_size;

static_assert(sizeof(base::ended_claim) == 32);
static_assert(sizeof(name_block) <= block_size && sizeof(claim_block) <= block_size);

}  // namespace format

struct ledger::header {
    char magic[24];
    std::uint32_t version;
    std::uint32_t block_size;
    std::array<char, 40> boot;
    std::atomic<std::uint32_t> lock;
    std::uint32_t total_blocks;
    block_number free_first;
    std::uint32_t free_blocks;
    std::uint64_t last_counter;
    std::atomic<std::uint64_t> turns;  // how often the lock was taken: whether its owner moves
    std::atomic<std::uint32_t> gone_next;
    std::atomic<std::uint64_t> gone[64];  // sessions of clients that could not clean up when they left
    struct {
        std::uint32_t count;
        struct {
            std::uint32_t at;
            std::uint32_t size;
            std::uint64_t old;
        } words[64];
    } journal;
    seat_record seat_records[seats::count];
};

inline auto ledger::head() const noexcept -> header& {
    return *reinterpret_cast<header*>(base_);
}

inline block_head* ledger::block(block_number n) const noexcept {
    return reinterpret_cast<block_head*>(base_ + format::blocks_at + std::uint64_t{n - 1} * format::block_size);
}

// The order in which a process that may be killed does things.
inline void in_this_order() noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

inline void ledger::note(void* word, std::size_t size) noexcept {
    auto& journal = head().journal;
    auto& entry = journal.words[journal.count];
    entry.at = static_cast<std::uint32_t>(static_cast<unsigned char*>(word) - base_);
    entry.size = static_cast<std::uint32_t>(size);
    std::memcpy(&entry.old, word, size);
    in_this_order();
    ++journal.count;
    in_this_order();
}

inline name_block& ledger::access::name(block_number n) noexcept {
    return *static_cast<name_block*>(of_.block(n));
}
inline claim_block& ledger::access::claim(block_number n) noexcept {
    return *static_cast<claim_block*>(of_.block(n));
}
template <class Word>
void ledger::access::set(Word& word, std::type_identity_t<Word> value) noexcept {
    static_assert(sizeof(Word) == 4 || sizeof(Word) == 8);
    of_.note(&word, sizeof word);
    word = value;
}

}  // namespace mortise::inline v0::stores::host
