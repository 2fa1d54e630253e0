// Variables of the whole program that nobody waits for. The language makes a variable of a function at its first use, under a
// lock: a child of a fork that came while another thread was making it would wait for that thread for ever. It also destroys
// them when the program ends, and clients may outlive main. These are made before the program begins, or at first use without
// a lock, and are never destroyed.
#pragma once

#include "base/process.hpp"

#include <mortise/config.hpp>

#include <atomic>
#include <cstdint>
#include <memory>

namespace mortise::inline v0::base {

// const immortal<T> x;    made by the compiler, or where it cannot (clang 14 and a std::string) before main. In a namespace: in
// a function it has a lock for its end, though that is empty.
template <class T>
union immortal {
    constexpr immortal() noexcept : value() {}
    constexpr ~immortal() {}
    T value;
};

// static constinit made_once<T> x;    *x([] { return std::make_unique<T>(...); })
// Two threads that come at once may both make one; one of them throws its own away. None, as long as none could be made.
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
// A child of fork has one of its own and leaves the parent's alone: a mutex in it may be locked for ever.
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
