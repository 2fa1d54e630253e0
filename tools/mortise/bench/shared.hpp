// Memory that processes share, and words in it to sleep on.
#pragma once

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <new>
#include <system_error>

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace bench {

// A T that this process shares with the children it forks from now on. Never destroyed, only unmapped: T holds no more
// than numbers.
template <class T>
class shared {
public:
    shared() {
        void* at = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
        made_ = new (at) T{};
    }
    ~shared() { ::munmap(made_, sizeof(T)); }
    shared(const shared&) = delete;
    shared& operator=(const shared&) = delete;

    T* operator->() const { return made_; }
    T& operator*() const { return *made_; }

private:
    T* made_;
};

// A number that processes wait for.
class futex_word {
public:
    std::uint32_t get() const { return value_.load(std::memory_order_acquire); }

    // Sets it and wakes those who wait.
    void set(std::uint32_t value, int how_many = INT_MAX) {
        value_.store(value, std::memory_order_release);
        ::syscall(SYS_futex, address(), FUTEX_WAKE, how_many, nullptr, nullptr, 0);
    }

    // Sleeps until it is `wanted`.
    void await(std::uint32_t wanted) { await(wanted, wanted); }
    void await(std::uint32_t wanted, std::uint32_t or_this) {
        for (std::uint32_t seen = get(); seen != wanted && seen != or_this; seen = get()) {
            ::syscall(SYS_futex, address(), FUTEX_WAIT, seen, nullptr, nullptr, 0);
        }
    }

    // Sleeps as long as it is `old`.
    void await_change(std::uint32_t old) {
        while (get() == old) ::syscall(SYS_futex, address(), FUTEX_WAIT, old, nullptr, nullptr, 0);
    }

private:
    std::uint32_t* address() { return reinterpret_cast<std::uint32_t*>(&value_); }

    std::atomic<std::uint32_t> value_{0};
};

}  // namespace bench
