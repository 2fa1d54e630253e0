// Ten thousand coroutines wait for one lock, and no thread does. Without any library but the standard one: start() calls
// back, and an awaitable is a few lines around that.
#include <mortise/mortise.hpp>

#include <coroutine>
#include <iostream>
#include <latch>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace {

// Runs by itself and is never waited for; whoever wants to know counts.
struct task {
    struct promise_type {
        task get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
};

// co_await acquire(locks, "name"): an attempt, which is a hold or says why not.
class acquire {
public:
    acquire(mortise::client& locks, std::string_view name) : locks_(locks), wanted_{.name = std::string(name)} {}

    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> waits) {
        // The coroutine may go on, and end, before start() returns: nothing here is touched after it.
        locks_.start(std::move(wanted_), [this, waits](mortise::attempt got) {
            got_.emplace(std::move(got));
            waits.resume();
        });
    }
    mortise::attempt await_resume() { return *std::move(got_); }

private:
    mortise::client& locks_;
    mortise::claim wanted_;
    std::optional<mortise::attempt> got_;
};

task buy(mortise::client& locks, int& stock, int& sold, std::latch& all) {
    const mortise::attempt got = co_await acquire(locks, "ticket");
    if (got && stock > 0) {
        --stock;  // alone: we hold the lock, on whichever thread we are
        ++sold;
    }
    all.count_down();
}

}  // namespace

int main() {
    constexpr int customers = 10'000;
    int stock = 7'000;
    int sold = 0;
    std::latch all{customers};
    mortise::client locks{"memory:"};  // the last to be made: its end waits for what still calls back
    {
        const mortise::hold closed = locks.acquire("ticket");  // the shop opens when everybody stands in line
        for (int n = 0; n < customers; ++n) buy(locks, stock, sold, all);
        std::cout << "in line: " << customers << ", sold: " << sold << '\n';
    }
    all.wait();
    std::cout << "sold: " << sold << ", left: " << stock << '\n';
}
