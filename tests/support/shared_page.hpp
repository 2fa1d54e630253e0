// A few numbers that processes of one test share.
#pragma once

#include <new>
#include <stdexcept>

#include <sys/mman.h>

namespace mortise::testing {

// Made before fork, seen by parent and children alike. T is atomics, or plain data that the lock under test guards; it
// starts as T{}.
template <class T>
class shared_page {
public:
    shared_page() {
        void* page = ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED) throw std::runtime_error("no shared page");
        all_ = ::new (page) T{};
    }
    ~shared_page() { ::munmap(all_, sizeof(T)); }
    shared_page(const shared_page&) = delete;
    shared_page& operator=(const shared_page&) = delete;

    T& operator*() const noexcept { return *all_; }
    T* operator->() const noexcept { return all_; }

private:
    T* all_;
};

}  // namespace mortise::testing
