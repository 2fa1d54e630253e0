#include "stores/host/bus_guard.hpp"

#include <cstdint>

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

namespace mortise::inline v0::stores::host {
namespace {

struct guarded_part {
    unsigned char* begin;
    std::size_t size;
    std::atomic<std::atomic<bool>*> torn;  // null: no longer guarded
    guarded_part* next;
};

// Read by the handler at any moment: parts are added at the front and stay. Without a mutex, which a child of fork might inherit
// locked.
constinit std::atomic<guarded_part*> guarded_parts{nullptr};
std::uintptr_t bytes_of_a_page = 4096;

void on_bus_error(int, siginfo_t* what, void*) {
    const int errno_before = errno;
    const auto address = reinterpret_cast<std::uintptr_t>(what->si_addr);
    for (guarded_part* one = guarded_parts.load(); one != nullptr && what->si_code > 0; one = one->next) {
        std::atomic<bool>* const torn = one->torn.load();
        if (torn == nullptr || address - reinterpret_cast<std::uintptr_t>(one->begin) >= one->size) continue;
        void* const page = reinterpret_cast<void*>(address & ~(bytes_of_a_page - 1));
        if (::mmap(page, bytes_of_a_page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
            MAP_FAILED)
            break;
        torn->store(true);
        errno = errno_before;
        return;
    }
    ::signal(SIGBUS, SIG_DFL);
    ::raise(SIGBUS);  // when this returns
}

void install_handler() {
    struct sigaction is {};
    if (::sigaction(SIGBUS, nullptr, &is) != 0 || (is.sa_flags & SA_SIGINFO) != 0 || is.sa_handler != SIG_DFL) return;
    bytes_of_a_page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    is.sa_sigaction = &on_bus_error;
    is.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    ::sigemptyset(&is.sa_mask);
    ::sigaction(SIGBUS, &is, nullptr);
}

}  // namespace

void bus_guard::protect(unsigned char* part, std::size_t size, std::atomic<bool>& torn) {
    install_handler();
    auto* const fresh = new guarded_part{part, size, &torn, guarded_parts.load()};
    while (!guarded_parts.compare_exchange_weak(fresh->next, fresh)) {
    }
}

void bus_guard::release(const unsigned char* part) noexcept {
    for (guarded_part* one = guarded_parts.load(); one != nullptr; one = one->next)
        if (one->begin == part) one->torn = nullptr;
}

}  // namespace mortise::inline v0::stores::host
