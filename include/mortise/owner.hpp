// An owner that is not a thread.
#pragma once

#include <mortise/config.hpp>

#include <cstdint>

namespace mortise::inline v0 {

// recursive_mutex counts per thread, as std's does. A coroutine or a request that hops between threads makes one of
// these and passes it instead: its identity is the object, wherever it runs. It must outlive what it locked, and it is
// one line of execution: not to be used by two threads at once.
class MORTISE_API owner {
public:
    owner() noexcept;
    owner(const owner&) = delete;
    owner& operator=(const owner&) = delete;

    // Unique in this process, and never that of a thread.
    std::uint64_t id() const noexcept { return id_; }

private:
    std::uint64_t id_;
};

}  // namespace mortise::inline v0
