// Global variables that are safe with fork() and at program exit. A static variable of a function is initialized at
// first use, under a lock: the child of a fork that happens meanwhile would wait for ever. It is also destroyed at
// exit, while clients may outlive main(). The variables here are initialized at compile time, or at first use without a
// lock, and are never destroyed.
#pragma once

#include "base/process.hpp"

#include <mortise/config.hpp>

#include <atomic>
#include <cstdint>
#include <memory>

namespace mortise::inline v0::base {

// const immortal<T> x;    made by the compiler, or where it cannot (clang 14 and a std::string) before main. In a
// namespace: in a function it has a lock for its end, though that is empty.
template <class T>
union immortal {
    constexpr immortal() noexcept : value() {}
    constexpr ~immortal() {}
    T value;
};

// static constinit made_once<T> x;    *x([] { return std::make_unique<T>(...); }) If two threads use it first at the
// same time, both may create one, and one of them is discarded. Null if none could be created.
template <class T, class Drop = std::default_delete<T>>
class made_once {
public:
    template <class Make>
    T* operator()(Make make) {
        if (T* const known = made_.load(std::memory_order_acquire)) return known;
        std::unique_ptr<T, Drop> mine = make();
        T* others = nullptr;
        return made_.compare_exchange_strong(others, mine.get()) ? mine.release() : others;
    }

private:
    std::atomic<T*> made_{nullptr};
};

// static constinit one_per_process<T> x;    x()
// The child of a fork has its own and does not touch the parent's, in which a mutex may be locked for ever.
template <class T>
class one_per_process {
public:
    T& operator()() {
        made* seen = latest_.load(std::memory_order_acquire);
        while (seen == nullptr || seen->generation != fork_generation()) {
            auto mine = std::make_unique<made>(fork_generation(), seen);
            if (latest_.compare_exchange_strong(seen, mine.get())) seen = mine.release();
        }
        return seen->value;
    }

private:
    struct made {
        made(std::uint64_t now, made* before) : generation(now), inherited(before) {}
        const std::uint64_t generation;
        made* const inherited;
        T value{};
    };
    std::atomic<made*> latest_{nullptr};
};

}  // namespace mortise::inline v0::base
