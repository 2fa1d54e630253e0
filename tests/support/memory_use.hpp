// How much memory this process uses.
#pragma once

#include <cstddef>
#include <fstream>

#include <malloc.h>
#include <unistd.h>

namespace mortise::testing {

// Pages in memory: what an operator sees. Freed memory may stay in it.
inline std::size_t resident_bytes() {
    std::ifstream statm{"/proc/self/statm"};
    std::size_t total = 0;
    std::size_t resident = 0;
    statm >> total >> resident;
    return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

// What malloc has handed out and not got back. Meaningless under a sanitizer, which brings its own malloc.
inline std::size_t heap_bytes() {
    const struct mallinfo2 now = mallinfo2();
    return now.uordblks + now.hblkhd;
}

}  // namespace mortise::testing
