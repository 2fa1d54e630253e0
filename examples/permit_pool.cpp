// Ten jobs, at most three at a time, whichever process they run in.
#include <mortise/mortise.hpp>

#include <atomic>
#include <chrono>
#include <iostream>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

namespace {

const char* yes_no(bool is) {
    return is ? "yes" : "no";
}

}  // namespace

int main() {
    mortise::client locks{"memory:", {.label = "reports"}};
    mortise::counting_semaphore printers{locks, "printers", 3};

    std::atomic<int> printing{0};
    std::atomic<int> done{0};
    std::atomic<bool> too_many{false};
    {
        std::vector<std::jthread> jobs;
        for (int i = 0; i < 10; ++i)
            jobs.emplace_back([&] {
                const mortise::hold printer = printers.acquire();  // given back at the end of the scope
                if (++printing > 3) too_many = true;
                std::this_thread::sleep_for(5ms);
                --printing;
                ++done;
            });
    }
    std::cout << "printed: " << done << ", ever more than three at a time: " << yes_no(too_many) << '\n';

    // Several permits in one call: all of them or none.
    mortise::hold two = printers.acquire(2);
    std::cout << "two of three are taken; two more at once: " << yes_no(bool(printers.try_acquire(2))) << '\n';
    const auto one = printers.try_acquire();
    std::cout << "the last one: " << yes_no(bool(one)) << '\n';

    const auto refused = printers.try_acquire_for(20ms);
    std::cout << "one more within 20 ms: " << refused.reason().message() << '\n'
              << "in the way: " << refused.refusal().holder->label << '\n';

    two.release();
    std::cout << "after a release of two: " << yes_no(bool(printers.try_acquire(2))) << '\n';

    // Who counts otherwise is told.
    mortise::counting_semaphore wrong{locks, "printers", 4};
    std::cout << "a pool of four with this name: " << wrong.try_acquire().reason().message() << '\n';
}
