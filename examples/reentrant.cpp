// A method that locks calls another one that locks the same name.
#include <mortise/mortise.hpp>

#include <chrono>
#include <iostream>
#include <mutex>
#include <thread>

using namespace std::chrono_literals;

namespace {

class account {
public:
    explicit account(mortise::client& locks) : lock_(locks, "account") {}

    void deposit(int amount) {
        std::scoped_lock guard{lock_};
        balance_ += amount;
    }
    void deposit_twice(int amount) {
        std::scoped_lock guard{lock_};
        const mortise::token outer = lock_.hold().token();
        deposit(amount);
        deposit(amount);
        std::cout << "token unchanged by the inner locks: " << (lock_.hold().token() == outer ? "yes" : "no") << '\n';
    }
    int balance() const { return balance_; }

private:
    mortise::recursive_mutex lock_;
    int balance_ = 0;
};

}  // namespace

int main() {
    mortise::client locks{"memory:"};

    account mine{locks};
    mine.deposit_twice(5);
    std::cout << "balance: " << mine.balance() << '\n';

    // The plain mutex says so instead of waiting for itself.
    mortise::mutex plain{locks, "plain"};
    std::scoped_lock guard{plain};
    std::error_code ec;
    plain.lock(ec);
    std::cout << "mutex locked twice by one thread: " << ec.message() << '\n';
    std::cout << "equal to resource_deadlock_would_occur: "
              << (ec == std::errc::resource_deadlock_would_occur ? "yes" : "no") << '\n';

    // Work that hops between threads counts per owner, not per thread.
    mortise::recursive_mutex hopping{locks, "request 7"};
    const mortise::owner request;
    hopping.lock(request);
    std::thread{[&] {
        std::cout << "same owner on another thread: " << (hopping.try_lock(request) ? "locked again" : "refused")
                  << '\n';
        std::cout << "no owner given, another thread: " << (hopping.try_lock() ? "locked" : "refused") << '\n';
        hopping.unlock(request);
    }}.join();
    hopping.unlock(request);
    std::cout << "free after the last unlock: " << (hopping.try_lock_for(1s) ? "yes" : "no") << '\n';
    hopping.unlock();
}
