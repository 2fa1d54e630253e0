// The shared file in memory: its front, and its blocks in segments that are mapped as the file grows.
#pragma once

#include "stores/host/format.hpp"

#include <mortise/config.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace mortise::inline v0::stores::host {

class mapped_file {
public:
    static constexpr std::uint64_t nowhere = UINT64_MAX;

    explicit mapped_file(std::string directory) : directory_(std::move(directory)) {}
    ~mapped_file();
    mapped_file(const mapped_file&) = delete;
    mapped_file& operator=(const mapped_file&) = delete;

    // Everything before the blocks; then at least so many blocks. Throw errc::exhausted.
    void map_front(int file);
    void map_blocks(std::uint32_t count);

    unsigned char* front() const noexcept { return front_; }
    file_header& header() const noexcept { return *reinterpret_cast<file_header*>(front_); }
    std::uint32_t block_count() const noexcept { return block_count_.load(std::memory_order_acquire); }

    // Null: there is no such block. Needs no lock.
    block_head* block_at(block_number n) const noexcept {
        const std::uint32_t i = n - 1;
        if (i >= block_count()) return nullptr;
        unsigned char* const part = segments_[i / format::blocks_per_segment].load(std::memory_order_relaxed);
        return reinterpret_cast<block_head*>(part + std::uint64_t{i % format::blocks_per_segment} * format::block_size);
    }

    // Where in the file this address is; `nowhere` if it is not mapped here.
    std::uint64_t offset_of(const void* address) const noexcept;
    // Null: outside, or across the end of a part.
    unsigned char* at(std::uint64_t offset, std::size_t size) const noexcept;

    // Whether the file was truncated under the mapping; also set by the bus_guard.
    std::atomic<bool>& truncated() const noexcept { return truncated_; }

private:
    using segment = std::atomic<unsigned char*>;
    unsigned char* map(std::uint64_t at, std::uint64_t size);

    const std::string directory_;
    int file_ = -1;  // not ours to close
    unsigned char* front_ = nullptr;
    std::array<segment, 64> segments_{};
    std::atomic<std::uint32_t> block_count_{0};
    mutable std::atomic<bool> truncated_{false};
};

inline std::uint64_t mapped_file::offset_of(const void* address) const noexcept {
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    const auto within = [&](const unsigned char* part) { return wanted - reinterpret_cast<std::uintptr_t>(part); };
    if (within(front_) < format::blocks_at) return within(front_);
    for (std::size_t i = 0; i < segments_.size(); ++i) {
        const unsigned char* const part = segments_[i].load(std::memory_order_relaxed);
        if (part == nullptr) break;
        if (within(part) < format::segment_size) return format::blocks_at + i * format::segment_size + within(part);
    }
    return nowhere;
}

}  // namespace mortise::inline v0::stores::host
