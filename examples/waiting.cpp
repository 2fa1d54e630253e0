// Four ways to wait for a lock: not at all, for a while, until cancelled, and with a callback.
#include <mortise/mortise.hpp>

#include <chrono>
#include <future>
#include <iostream>
#include <stop_token>
#include <thread>
#include <utility>

using namespace std::chrono_literals;

int main() {
    mortise::client others{"memory:", {.label = "nightly report"}};
    mortise::client locks{"memory:"};
    mortise::hold in_the_way = others.acquire("report");

    const auto at_once = locks.try_acquire("report");
    std::cout << "not at all: " << at_once.reason().message() << '\n';

    const auto bounded = locks.try_acquire("report", {.wait = 50ms});
    std::cout << "for 50 ms: " << bounded.reason().message() << '\n'
              << "held by \"" << bounded.refusal().holder->label << "\", our place in the queue was "
              << bounded.refusal().place.value() << '\n';

    std::stop_source shutdown;
    std::jthread operating{[&] {
        std::this_thread::sleep_for(50ms);
        shutdown.request_stop();
    }};
    const auto cancelled = locks.try_acquire("report", {.wait = 1h, .stop = shutdown.get_token()});
    std::cout << "until cancelled: " << cancelled.reason().message() << '\n';

    // start() returns at once; the completion is called once, on the client's notifier thread.
    std::promise<mortise::attempt> promise;
    std::future<mortise::attempt> answer = promise.get_future();
    locks.start({.name = "report"},
                [promise = std::move(promise)](mortise::attempt got) mutable { promise.set_value(std::move(got)); });
    const bool waiting = answer.wait_for(50ms) == std::future_status::timeout;
    std::cout << "callback, while the lock is held: " << (waiting ? "not called" : "called") << '\n';

    std::cout << "the holder's release: " << mortise::to_string(in_the_way.release()) << '\n';
    mortise::attempt got = answer.get();
    std::cout << "callback, after the release: " << (got ? "granted" : "refused") << '\n'
              << "the hold is valid: " << (got->valid() ? "yes" : "no") << '\n';
}
