// Two transfers in opposite directions: both accounts or none, and never a deadlock.
#include <mortise/mortise.hpp>

#include <chrono>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace {

std::map<std::string, int> balance{{"ann", 100}, {"bob", 100}, {"eve", 100}};

void transfer(mortise::client& locks, const std::string& from, const std::string& to, int amount) {
    mortise::multi_lock accounts{locks, {from, to}};  // in whatever order: they are taken in a fixed one
    std::scoped_lock guard{accounts};
    balance[from] -= amount;
    balance[to] += amount;
}

}  // namespace

int main() {
    mortise::client locks{"memory:"};
    {
        std::jthread there{[&] {
            for (int i = 0; i < 50; ++i) transfer(locks, "ann", "bob", 2);
        }};
        std::jthread back{[&] {
            for (int i = 0; i < 50; ++i) transfer(locks, "bob", "ann", 1);
        }};
    }
    std::cout << "ann " << balance["ann"] << ", bob " << balance["bob"] << '\n';

    // If one is in the way none is held, and the answer names it.
    mortise::client audit{"memory:", {.label = "audit"}};
    mortise::hold looking = audit.acquire("bob");
    mortise::multi_lock all{locks, {"ann", "bob", "eve"}};
    const auto refused = all.try_acquire_for(20ms);
    std::cout << "all three: " << refused.reason().message() << '\n'
              << "in the way: " << refused.in_the_way() << ", held by " << refused.refusal().holder->label << '\n'
              << "ann is free: " << (audit.try_acquire("ann") ? "yes" : "no") << '\n';
    looking.release();

    // The handle form. Every account has a fencing token of its own.
    mortise::multi_hold held = all.acquire();
    std::cout << "held together:";
    for (const mortise::hold& one : held.holds()) std::cout << ' ' << one.name();
    std::cout << "\nvalid: " << (held.valid() ? "yes" : "no")
              << ", bob has a token: " << (held.at("bob").token() > mortise::token{} ? "yes" : "no") << '\n'
              << "the release: " << mortise::to_string(held.release()) << '\n';
}
