#include <mortise/mortise.hpp>

#include <chrono>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
    const std::string me = argc > 1 ? argv[1] : "somebody";
    mortise::client locks{mortise::client_options{.lease = 3s, .label = me}};
    mortise::mutex report{locks, "report"};

    std::scoped_lock guard{report};
    const mortise::token token = report.hold().token();
    std::cerr << me << " holds the lock" << std::endl;
    std::cout << "seal " << token << std::endl;
    std::this_thread::sleep_for(5s);  // the work
    std::cerr << me << " writes" << std::endl;
    std::cout << "write " << token << ' ' << me << std::endl;
}
