// A reader falls asleep between reading the database and filling the cache. What it brings late is refused.
#include <mortise/mortise.hpp>
#include <mortise/patterns/consistent_cache.hpp>

#include <chrono>
#include <iostream>

using namespace std::chrono_literals;

int main() {
    mortise::client locks{"memory:"};
    mortise::memory_storage cache;
    mortise::memory_storage database;  // yours has a column for the fence: docs/fencing.md
    mortise::consistent_cache<int> prices{locks, cache, database, "prices"};

    prices.put("tea", 3);
    std::cout << "the price is " << prices.get("tea").value() << '\n';

    // Another reader, by hand: it holds the read lock, reads the old price and stands still for longer than its lease.
    cache.forget("tea");
    mortise::client sleepy{"memory:"};
    mortise::shared_mutex lock{sleepy, "prices/tea", {.lease = 100ms, .renew = mortise::renew::off}};
    const mortise::hold reading = lock.acquire_shared();
    const bool sealed = cache.seal("tea", reading.token()) && database.seal("tea", reading.token());
    const std::string old = database.read("tea")->bytes;

    prices.put("tea", 4);  // waits until that lease is over
    std::cout << "the price is " << prices.get("tea").value() << '\n';

    const bool stored = sealed && cache.write("tea", reading.token(), old, 1h);
    std::cout << "the late reader stored the old price: " << (stored ? "yes" : "no") << '\n';
    std::cout << "the price is " << prices.get("tea").value() << '\n';
}
