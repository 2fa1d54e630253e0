// A call that asks the store and blocks until it is answered.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <cstdint>

namespace mortise::inline v0::core {

// While a call of this thread does so.
class blocking_call {
public:
    explicit blocking_call(spi::store& on) noexcept : on_(on) { on_.will_sleep(true); }
    ~blocking_call() { on_.will_sleep(false); }
    blocking_call(const blocking_call&) = delete;
    blocking_call& operator=(const blocking_call&) = delete;

private:
    spi::store& on_;
};

// Where this thread sleeps when it blocks: any number that others are unlikely to have.
std::uint32_t this_thread_wait_slot() noexcept;

// This thread as the kernel and its tools show it.
std::int64_t this_thread_number() noexcept;

}  // namespace mortise::inline v0::core
