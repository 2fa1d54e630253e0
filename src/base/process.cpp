#include "base/process.hpp"

#include <array>
#include <atomic>

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

namespace mortise::inline v0::base {
namespace {

std::atomic<std::uint64_t> generation{1};

void in_child() {
    generation.fetch_add(1, std::memory_order_relaxed);
}

// Before there are threads: a variable that one of them was just making at a fork would never be finished in the child.
[[maybe_unused]] const int installed = ::pthread_atfork(nullptr, nullptr, in_child);

}  // namespace

std::uint64_t fork_generation() noexcept {
    return generation.load(std::memory_order_relaxed);
}

std::string host_name() {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) return "localhost";
    return name.data();
}

std::string program_name() {
    return ::program_invocation_short_name;
}

std::int64_t process_id() noexcept {
    return ::getpid();
}

}  // namespace mortise::inline v0::base
