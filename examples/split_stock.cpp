// 2,000 tickets in five segments, sold by sixteen threads. None is sold twice, none is left over.
#include <mortise/mortise.hpp>
#include <mortise/patterns/sharded_stock.hpp>

#include <atomic>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

int main() {
    mortise::client locks{"memory:"};  // five Redis servers have five of these
    mortise::memory_storage place;
    const std::vector<mortise::sharded_stock::segment> segments(5, {locks, place});
    mortise::sharded_stock tickets{segments, "tickets"};
    for (int i = 0; i < 20; ++i) tickets.add("delivery " + std::to_string(i), 100);
    std::cout << "in stock: " << tickets.audit() << '\n';

    std::atomic<int> sold = 0;
    {
        std::vector<std::jthread> shops;
        for (int shop = 0; shop < 16; ++shop)
            shops.emplace_back([&, shop] {
                for (int size = 3; size > 0;) {  // families first, then couples, then anybody
                    if (tickets.take("buyer " + std::to_string(shop), size))
                        sold += size;
                    else
                        --size;
                }
            });
    }
    std::cout << "sold: " << sold << ", left: " << tickets.audit() << '\n';

    tickets.add("buyer 7", 2);  // two come back
    std::cout << "a couple gets them: " << (tickets.take("buyer 99", 2) ? "yes" : "no") << '\n';
}
