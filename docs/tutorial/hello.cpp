#include <mortise/mortise.hpp>

#include <chrono>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>

int main(int argc, char** argv) {
    const std::string me = argc > 1 ? argv[1] : "somebody";
    mortise::client locks;  // on the store that MORTISE_STORE names, else on host:
    mortise::mutex report{locks, "report"};

    std::cout << me << " waits" << std::endl;
    std::scoped_lock guard{report};
    std::cout << me << " holds the lock" << std::endl;
    std::this_thread::sleep_for(std::chrono::seconds{5});
    std::cout << me << " is done" << std::endl;
}
