// An owner that is not a thread.
#pragma once

#include <mortise/config.hpp>

#include <cstdint>

namespace mortise::inline v0 {

// An owner of a recursive_mutex that is not a thread. recursive_mutex counts per thread, like std::recursive_mutex; a
// coroutine or request that moves between threads creates an owner and passes it instead. It must outlive what it
// locked, and must not be used by two threads at once.
class MORTISE_API owner {
public:
    owner() noexcept;
    owner(const owner&) = delete;
    owner& operator=(const owner&) = delete;

    // Unique in this process, also among the ids of threads.
    std::uint64_t id() const noexcept { return id_; }

private:
    std::uint64_t id_;
};

}  // namespace mortise::inline v0
