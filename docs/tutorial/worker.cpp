#include <mortise/mortise.hpp>

#include <chrono>
#include <ctime>
#include <iomanip>
#include <iostream>
#include <mutex>
#include <string>
#include <thread>

using namespace std::chrono_literals;

int main(int argc, char** argv) {
    const std::string me = argc > 1 ? argv[1] : "somebody";
    auto say = [&me](const std::string& what) {
        const std::time_t now = std::time(nullptr);
        std::cout << std::put_time(std::localtime(&now), "%T ") << me << ' ' << what << std::endl;
    };

    mortise::client locks{mortise::client_options{.lease = 3s, .label = me}};
    mortise::mutex report{locks, "report"};

    say("waits");
    std::scoped_lock guard{report};
    say("holds the lock, token " + to_string(report.hold().token()));
    while (report.hold().valid()) std::this_thread::sleep_for(10ms);  // the work, in small pieces
    say("stops: its lock is lost");
}
