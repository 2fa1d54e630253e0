// Memory for what is made at every lock() and gone at every unlock().
//
// A thread keeps the last few blocks of each size that it gave back, and takes them first. That costs a tenth of what
// malloc and free do. A block is kept by the thread that freed it, whichever allocated it, so nothing is shared and
// nothing is locked. AddressSanitizer gets every block back, so that it notices late uses.
#pragma once

#include <mortise/config.hpp>

#include <array>
#include <cstddef>
#include <memory>
#include <new>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MORTISE_KEEPS_NO_BLOCKS
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define MORTISE_KEEPS_NO_BLOCKS
#endif

namespace mortise::inline v0::base {

template <std::size_t Size>
class spare_blocks {
public:
    static void* take() {
        kept& mine = of_this_thread;
        return mine.count > 0 ? mine.blocks[--mine.count] : ::operator new(Size);
    }
    static void give(void* block) noexcept {
        kept& mine = of_this_thread;
        if (mine.count < mine.room || mine.open()) {
            mine.blocks[mine.count++] = block;
        } else {
            ::operator delete(block);
        }
    }

private:
#ifdef MORTISE_KEEPS_NO_BLOCKS
    static constexpr std::size_t most = 0;
#else
    static constexpr std::size_t most = 2;
#endif

    // Destroyed with the thread; what is given back later, by the destructors of others, is not kept.
    struct keeper {
        bool begun = false;
        ~keeper() {
            kept& mine = of_this_thread;
            mine.room = 0;
            while (mine.count > 0) ::operator delete(mine.blocks[--mine.count]);
        }
    };
    struct kept {
        std::size_t count = 0;
        std::size_t room = 0;
        bool opened = false;
        std::array<void*, 2> blocks{};

        // Whether this made room.
        bool open() noexcept {
            if (opened || most == 0) return false;
            opened = true;
            room = most;
            ending.begun = true;  // so that it is destroyed
            return true;
        }
    };

    static constinit inline thread_local kept of_this_thread{};
    static inline thread_local keeper ending{};
};

// For std::allocate_shared and for containers of nodes; and, with another `Count`, for vectors that reserve so many.
template <class T, std::size_t Count = 1>
class spare_allocator {
public:
    using value_type = T;
    template <class U>
    struct rebind {
        using other = spare_allocator<U, Count>;
    };

    spare_allocator() noexcept = default;
    template <class U>
    spare_allocator(const spare_allocator<U, Count>&) noexcept {}  // NOLINT(google-explicit-constructor)

    T* allocate(std::size_t n) {
        if (n == Count) return static_cast<T*>(blocks::take());
        return std::allocator<T>{}.allocate(n);
    }
    void deallocate(T* at, std::size_t n) noexcept {
        if (n == Count) return blocks::give(at);
        std::allocator<T>{}.deallocate(at, n);
    }

    friend bool operator==(const spare_allocator&, const spare_allocator&) noexcept { return true; }

private:
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    using blocks = spare_blocks<(Count * sizeof(T) + 7) / 16 * 16 + 8>;  // what malloc makes of it anyway
};

// For objects that std::unique_ptr owns: a base whose `new` and `delete` use spare blocks.
template <class T>
struct spared {
    static void* operator new(std::size_t) { return spare_blocks<sizeof(T)>::take(); }
    static void operator delete(void* block) noexcept { spare_blocks<sizeof(T)>::give(block); }
};

template <class T, class... Args>
std::shared_ptr<T> make_spared(Args&&... args) {
    return std::allocate_shared<T>(spare_allocator<T>{}, std::forward<Args>(args)...);
}

}  // namespace mortise::inline v0::base
