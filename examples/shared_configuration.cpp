// Many read a configuration, few change it, and one looks first and changes it only if it must.
#include <mortise/mortise.hpp>

#include <chrono>
#include <iostream>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace {

const char* told(bool yes) {
    return yes ? "yes" : "no";
}

// Each thread is an owner of its own, as another process would be.
template <class Ask>
bool elsewhere(Ask&& ask) {
    bool answer = false;
    std::thread{[&] { answer = ask(); }}.join();
    return answer;
}

}  // namespace

int main() {
    mortise::client locks{"memory:"};
    mortise::shared_mutex lock{locks, "configuration"};
    std::string region = "north";

    {
        std::shared_lock reading{lock};
        const bool together = elsewhere([&] { return std::shared_lock{lock, std::try_to_lock}.owns_lock(); });
        const bool alone = elsewhere([&] { return std::unique_lock{lock, std::try_to_lock}.owns_lock(); });
        std::cout << "a second reader beside the first: " << told(together) << '\n';
        std::cout << "a writer beside a reader: " << told(alone) << '\n';
    }

    // Look first. Readers go on meanwhile, but nobody else can be about to change it.
    lock.lock_upgradeable();
    const mortise::token before = lock.hold().token();
    std::cout << "readers while we look: " << told(elsewhere([&] {
        return std::shared_lock{lock, std::try_to_lock}.owns_lock();
    })) << '\n';
    if (region != "south") {
        lock.upgrade();  // nobody writes in between: what was read is still true
        region = "south";
        std::cout << "the write has a larger token: " << told(lock.hold().token() > before) << '\n';
        lock.downgrade_to_shared();  // and nobody writes before we have read it back
    }
    std::cout << "region: " << region << '\n';
    std::cout << "readers again: " << told(elsewhere([&] {
        return std::shared_lock{lock, std::try_to_lock}.owns_lock();
    })) << '\n';

    // A plain reader that wants to write would wait for other readers that want the same.
    std::error_code ec;
    lock.upgrade(ec);
    std::cout << "a plain read asks to write: " << ec.message() << '\n';
    lock.unlock_shared();
}
