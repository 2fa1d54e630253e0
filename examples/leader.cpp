// Two nodes, one scheduler: the second takes over when the first resigns or falls silent.
#include <mortise/mortise.hpp>

#include <chrono>
#include <iostream>
#include <stop_token>
#include <thread>

using namespace std::chrono_literals;

namespace {

const char* yes_no(bool is) {
    return is ? "yes" : "no";
}

}  // namespace

int main() {
    mortise::client locks_1{"memory:", {.label = "node 1"}};
    mortise::client locks_2{"memory:", {.label = "node 2"}};
    mortise::election one{locks_1, "scheduler"};
    mortise::election two{locks_2, "scheduler"};

    std::cout << "anybody leads: " << yes_no(one.leader().has_value()) << '\n';
    one.campaign();
    std::cout << "node 1 leads: " << yes_no(one.is_leader()) << '\n'
              << "node 2 asks who leads: " << two.leader()->label << '\n'
              << "node 2 at once: " << yes_no(two.try_campaign()) << '\n';

    // A campaign waits for its turn, and can be given up.
    std::stop_source shutdown;
    std::jthread gives_up{[&] {
        std::this_thread::sleep_for(20ms);
        shutdown.request_stop();
    }};
    std::cout << "node 2 until its shutdown: " << yes_no(two.campaign(shutdown.get_token())) << '\n';

    const mortise::token first_term = one.term();
    std::jthread campaigning{[&] { two.campaign(); }};
    std::cout << "node 1 resigns: " << mortise::to_string(one.resign()) << '\n';
    campaigning.join();
    std::cout << "node 2 leads: " << yes_no(two.is_leader())
              << ", with a later term: " << yes_no(two.term() > first_term) << '\n';
    two.resign();

    // A leader that does not renew in time has stepped down before the next one leads.
    mortise::election silent{locks_1, "scheduler", {.lease = 200ms, .renew = mortise::renew::off}};
    silent.campaign();
    const std::stop_token lost = silent.lost();
    two.campaign();
    std::cout << "the silent one leads: " << yes_no(silent.is_leader()) << ", node 2: " << yes_no(two.is_leader())
              << '\n';
    while (!lost.stop_requested()) std::this_thread::sleep_for(1ms);
    std::cout << "the silent one was told\n";
}
