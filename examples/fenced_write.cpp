// An old holder writes late. The same story twice: with a resource that seals, and with one that only checks writes.
#include <mortise/mortise.hpp>

#include <chrono>
#include <iostream>

using namespace std::chrono_literals;

namespace {

const char* yes(bool answer) {
    return answer ? "yes" : "no";
}

// Each accepted write sold one of ten.
void report(bool old_accepted, bool new_accepted, int left) {
    const int sold = old_accepted + new_accepted;
    std::cout << "  old write accepted: " << yes(old_accepted) << '\n'
              << "  new write accepted: " << yes(new_accepted) << '\n'
              << "  sold " << sold << " of 10, the stock says " << left << ": "
              << (sold + left == 10 ? "nothing is lost" : "an update is lost") << '\n';
}

// A short lease that is not renewed: as if the old holder's process were stopped right after reading.
const mortise::claim_options falls_asleep{.lease = 100ms, .renew = mortise::renew::off};

void with_seal(mortise::client& sleepy, mortise::client& awake) {
    std::cout << "A resource that seals:\n";
    mortise::fenced::register_of<int> stock{10};

    const mortise::hold old_hold = sleepy.acquire("stock", falls_asleep);
    const mortise::token old_token = old_hold.token();
    const int seen_by_old = stock.seal(old_token) ? stock.read(old_token).value() : 0;

    const mortise::hold new_hold = awake.acquire("stock", {.wait = 10s});  // let in when the lease is over
    const mortise::token new_token = new_hold.token();
    std::cout << "  old hold valid: " << yes(old_hold.valid()) << ", new hold valid: " << yes(new_hold.valid())
              << ", new token larger: " << yes(new_token > old_token) << '\n';

    const int seen_by_new = stock.seal(new_token) ? stock.read(new_token).value() : 0;
    const bool late = stock.write(old_token, seen_by_old - 1);  // between the new holder's read and its write
    const bool fresh = stock.write(new_token, seen_by_new - 1);
    report(late, fresh, stock.peek());
}

// Refuses old tokens on writes, but hears of a new holder only when that one writes.
struct write_only_fence {
    int value = 10;
    mortise::token highest{};

    bool write(mortise::token mine, int wanted) {
        if (mine < highest) return false;
        highest = mine;
        value = wanted;
        return true;
    }
};

void without_seal(mortise::client& sleepy, mortise::client& awake) {
    std::cout << "A resource that only checks writes:\n";
    write_only_fence stock;
    const mortise::hold old_hold = sleepy.acquire("stock", falls_asleep);
    const int seen_by_old = stock.value;
    const mortise::hold new_hold = awake.acquire("stock", {.wait = 10s});
    const int seen_by_new = stock.value;
    const bool late = stock.write(old_hold.token(), seen_by_old - 1);
    const bool fresh = stock.write(new_hold.token(), seen_by_new - 1);
    report(late, fresh, stock.value);
}

}  // namespace

int main() {
    mortise::client sleepy{"memory:"};
    mortise::client awake{"memory:"};
    with_seal(sleepy, awake);
    without_seal(sleepy, awake);
}
