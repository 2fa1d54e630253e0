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
inline constexpr std::uint32_t version = 3;
inline constexpr std::uint32_t like_this_one = 2;  // but for the visitors' seat: taken over once nobody uses it
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
inline constexpr std::uint64_t left_at =
    block_size - 8;  // in a claim's block: the id of the claim that was left behind

static_assert(sizeof(base::ended_claim) == 32);
static_assert(sizeof(name_block) <= left_at && sizeof(claim_block) <= left_at);

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
    std::atomic<std::uint64_t> turns;  // how often the lock was given back: whether its owner moves
    std::uint32_t unused;
    std::atomic<std::int64_t> next_seat_search;
    seat_record visitor;
    std::uint64_t unused_too[61];
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

// Null: there is no such block. Good without the lock, too.
inline block_head* ledger::block_at(block_number n) const noexcept {
    const std::uint32_t i = n - 1;
    if (i >= reachable_.load(std::memory_order_acquire)) return nullptr;
    unsigned char* const part = segments_[i / format::blocks_per_segment].load(std::memory_order_relaxed);
    return reinterpret_cast<block_head*>(part + std::uint64_t{i % format::blocks_per_segment} * format::block_size);
}

inline block_head* ledger::block(block_number n) noexcept {
    if (block_head* const there = block_at(n); there != nullptr && !damaged_.load(std::memory_order_relaxed))
        return there;
    damaged_ = true;
    nowhere_.fill(0);
    return reinterpret_cast<block_head*>(nowhere_.data());
}

// Which claim it was, in one word: no two claims ever have the same id.
inline std::uint64_t mark_of(const claim_id& id) noexcept {
    return (id.bits[0] ^ id.bits[1] * 0x9e3779b97f4a7c15u) | 1;
}
inline std::atomic<std::uint64_t>& left_word(block_head* in) noexcept {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(reinterpret_cast<unsigned char*>(in) + format::left_at);
}

// The order in which a process that may be killed does things.
inline void in_this_order() noexcept {
    std::atomic_signal_fence(std::memory_order_seq_cst);
}

inline void ledger::note(void* word, std::size_t size) noexcept {
    auto& journal = head().journal;
    const auto address = reinterpret_cast<std::uintptr_t>(word);
    const auto within = [&](const unsigned char* part, std::uint64_t bytes) {
        return address - reinterpret_cast<std::uintptr_t>(part) < bytes;
    };
    std::uint64_t at = 0;
    const unsigned char* part = front_;
    if (!within(front_, format::blocks_at)) {
        std::size_t i = 0;
        while (i < segments_.size() && (part = segments_[i].load(std::memory_order_relaxed)) != nullptr &&
               !within(part, format::segment_size))
            ++i;
        if (i == segments_.size() || part == nullptr) return;  // nowhere_
        at = format::blocks_at + i * format::segment_size;
    }
    if (journal.count >= std::size(journal.words)) {
        damaged_ = true;
        return;
    }
    auto& entry = journal.words[journal.count];
    entry.at = static_cast<std::uint32_t>(at + (address - reinterpret_cast<std::uintptr_t>(part)));
    entry.size = static_cast<std::uint32_t>(size);
    std::memcpy(&entry.old, word, size);
    in_this_order();
    ++journal.count;
    in_this_order();
}

inline name_block& ledger::access::name(block_number n) noexcept {
    block_head* found = of_.block(n);
    if (found->kind != block_head::name) broken(), found = of_.block(0);
    return *static_cast<name_block*>(found);
}
inline claim_block& ledger::access::claim(block_number n) noexcept {
    block_head* found = of_.block(n);
    if (found->kind != block_head::claim) broken(), found = of_.block(0);
    return *static_cast<claim_block*>(found);
}
template <class Word>
void ledger::access::set(Word& word, std::type_identity_t<Word> value) noexcept {
    static_assert(sizeof(Word) == 4 || sizeof(Word) == 8);
    of_.note(&word, sizeof word);
    word = value;
}

}  // namespace mortise::inline v0::stores::host
