// Keeps a program alive when a file that it has mapped is cut short.
//
// The next touch behind the new end is a SIGBUS, which ends the program. Where it is left to do so (SIG_DFL) a handler is
// installed, once per process, that acts on faults inside the guarded parts only: it puts a page of zeros there and sets the
// part's flag. Any other SIGBUS ends the program as it would have without us. A program with a handler of its own keeps it.
#pragma once

#include <mortise/config.hpp>

#include <atomic>
#include <cstddef>

namespace mortise::inline v0::stores::host {

class bus_guard {
public:
    // From now on, until release() or the end of the process. Throws std::bad_alloc.
    static void protect(unsigned char* part, std::size_t size, std::atomic<bool>& torn);
    static void release(const unsigned char* part) noexcept;
};

}  // namespace mortise::inline v0::stores::host
