// Uses a bit of everything that is exported, as a stranger would.
#include <mortise/mortise.hpp>

#include <cstdio>
#include <memory>
#include <mutex>
#include <system_error>

namespace {

struct counter : mortise::observer {
    void on_event(const mortise::event& what) override { std::printf("%s\n", mortise::to_string(what.kind).data()); }
};

bool says_busy(mortise::client& locks) {
    auto second = locks.try_acquire("ticket");
    std::printf("%s\n", second ? "granted twice" : second.refusal().describe().c_str());
    return !second && second.reason() == std::errc::device_or_resource_busy;
}

bool throws_what_it_promises() {
    try {
        mortise::client locks{"no-such-store:"};
    } catch (const mortise::error& refused) {
        return refused.code() == mortise::errc::unknown_store;
    }
    return false;
}

}  // namespace

int main() {
    mortise::client locks{"memory:", {.observer = std::make_shared<counter>()}};
    bool good = throws_what_it_promises();

    mortise::mutex tickets{locks, "ticket"};
    {
        std::scoped_lock guard{tickets};
        good = good && tickets.hold().valid() && says_busy(locks);
    }

    mortise::recursive_mutex nested{locks, "nested"};
    mortise::owner request;
    nested.lock(request);
    nested.lock(request);
    nested.unlock(request);
    nested.unlock(request);

    mortise::fenced::register_of<int> stock{5};
    auto got = locks.try_acquire("ticket");
    good = good && got && stock.update(got->token(), [](int n) { return n - 1; }) == 4;
    good = good && got->valid_until() > mortise::boot_clock::now();
    good = good && got->release() == mortise::release_result::released;

    std::puts(good ? "good" : "bad");
    return good ? 0 : 1;
}
