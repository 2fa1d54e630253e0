// The shared file of a directory: opened, checked, grown, and changed through a journal.
//
// Each word's old value goes to the journal before the word is changed; a commit empties the journal. A process that was killed
// halfway leaves its journal behind, and whoever takes the ledger's lock next restores the old values: nothing happened. The
// stores of a killed process up to its last instruction all count, and none after it, so the compiler's order is all that
// matters, and nothing needs to be synced.
//
// Nothing in the file is trusted: a number that leads outside, to a block of another kind or in a cycle makes the file
// `damaged`. From then on blocks read as zeros and nothing is committed. A file that is truncated under the mapping counts as
// damaged too (bus_guard.hpp).
#pragma once

#include "stores/host/format.hpp"
#include "stores/host/mapped_file.hpp"
#include "stores/host/store_directory.hpp"

#include <mortise/config.hpp>
#include <mortise/error.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <string>

namespace mortise::inline v0::stores::host {

// How long to wait for a process that keeps the file or its lock and makes no progress.
inline constexpr std::chrono::milliseconds ledger_patience{2000};

class ledger_file {
public:
    // Throws errc::unreachable, errc::exhausted, temporary_error.
    explicit ledger_file(const store_directory& where);
    ~ledger_file();
    ledger_file(const ledger_file&) = delete;
    ledger_file& operator=(const ledger_file&) = delete;

    const store_directory& where() const noexcept { return where_; }
    int descriptor() const noexcept { return file_; }
    bool is_open() const noexcept;  // false: somebody closed our descriptor

    // Throws errc::unreachable if the file is no longer where others would find it, or no longer what it was.
    void check_in_place() const;
    bool damaged() const noexcept { return damaged_ || map_.truncated(); }
    void mark_damaged() noexcept { damaged_ = true; }
    [[noreturn]] void fail(errc code, const std::string& what) const;
    [[noreturn]] void fail_damaged() const;

    file_header& header() const noexcept { return map_.header(); }
    std::uint32_t* buckets() const noexcept { return part<std::uint32_t>(format::buckets_at); }
    base::ended_claim* ended_claims() const noexcept { return part<base::ended_claim>(format::ends_at); }
    std::atomic<std::uint32_t>* wait_slots() const noexcept {
        return part<std::atomic<std::uint32_t>>(format::wait_slots_at);
    }

    block_head* block_at(block_number n) const noexcept { return map_.block_at(n); }  // null: there is none
    block_head* block(block_number n) noexcept;                                       // zeros if damaged
    std::uint32_t block_count() const noexcept { return map_.block_count(); }

    // With the ledger's lock held. The first maps what other processes have added to the file.
    void reach();
    void grow();
    void note(void* word, std::size_t size) noexcept;  // before it is changed
    void commit() noexcept;
    void undo() noexcept;

private:
    template <class T>
    T* part(std::uint64_t at) const noexcept {
        return reinterpret_cast<T*>(map_.front() + at);
    }
    void open(int directory_fd);
    bool usable() const;
    void make();
    void make_room(std::uint64_t from, std::uint64_t to) const;
    void begin_anew();

    const store_directory where_;
    mapped_file map_;
    int directory_ = -1;
    int file_ = -1;
    dev_t device_ = 0;  // of the file, should its descriptor become another's
    ino_t inode_ = 0;
    alignas(8) std::array<unsigned char, 512> zeros_{};
    std::atomic<bool> damaged_{false};
};

inline block_head* ledger_file::block(block_number n) noexcept {
    if (block_head* const there = block_at(n); there != nullptr && !damaged_.load(std::memory_order_relaxed))
        return there;
    damaged_ = true;
    zeros_.fill(0);
    return reinterpret_cast<block_head*>(zeros_.data());
}

inline void ledger_file::note(void* word, std::size_t size) noexcept {
    const std::uint64_t offset = map_.offset_of(word);
    if (offset == mapped_file::nowhere) return;  // zeros_
    auto& journal = header().journal;
    if (journal.count >= std::size(journal.words)) {
        damaged_ = true;
        return;
    }
    auto& entry = journal.words[journal.count];
    entry.at = static_cast<std::uint32_t>(offset);
    entry.size = static_cast<std::uint32_t>(size);
    std::memcpy(&entry.old, word, size);
    in_this_order();
    ++journal.count;
    in_this_order();
}

}  // namespace mortise::inline v0::stores::host
