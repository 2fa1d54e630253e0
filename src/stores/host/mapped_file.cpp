#include "stores/host/mapped_file.hpp"

#include "stores/host/bus_guard.hpp"

#include <mortise/error.hpp>

#include <cstring>
#include <tuple>

#include <errno.h>
#include <sys/mman.h>

namespace mortise::inline v0::stores::host {

mapped_file::~mapped_file() {
    const auto drop = [](unsigned char* part, std::size_t size) {
        if (part == nullptr) return;
        bus_guard::release(part);
        ::munmap(part, size);
    };
    for (const segment& part : segments_) drop(part, format::segment_size);
    drop(front_, format::blocks_at);
}

void mapped_file::map_front(int file) {
    file_ = file;
    if (front_ == nullptr) front_ = map(0, format::blocks_at);
}

void mapped_file::map_blocks(std::uint32_t count) {
    using namespace format;
    static_assert(most_blocks <= std::uint64_t{blocks_per_segment} * std::tuple_size_v<decltype(segments_)>);
    for (std::uint32_t i = 0; i * std::uint64_t{blocks_per_segment} < count; ++i)
        if (segments_[i].load(std::memory_order_relaxed) == nullptr)
            segments_[i].store(map(blocks_at + i * segment_size, segment_size), std::memory_order_relaxed);
    block_count_.store(count, std::memory_order_release);
}

unsigned char* mapped_file::map(std::uint64_t at, std::uint64_t size) {
    void* const part = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file_, static_cast<off_t>(at));
    if (part == MAP_FAILED)
        throw error(errc::exhausted, "host store in " + directory_ + ": cannot map 'locks': " + std::strerror(errno) +
                                         "; it needs " + std::to_string(size >> 10) +
                                         " KiB of address space (see ulimit -v)");
    bus_guard::protect(static_cast<unsigned char*>(part), size, truncated_);
    return static_cast<unsigned char*>(part);
}

unsigned char* mapped_file::at(std::uint64_t offset, std::size_t size) const noexcept {
    using namespace format;
    if (offset + size <= blocks_at) return front_ + offset;
    if (offset < blocks_at || offset + size > blocks_at + std::uint64_t{block_count_.load()} * block_size)
        return nullptr;
    const std::uint64_t in_blocks = offset - blocks_at;
    if (in_blocks % segment_size + size > segment_size) return nullptr;
    return segments_[in_blocks / segment_size].load() + in_blocks % segment_size;
}

}  // namespace mortise::inline v0::stores::host
