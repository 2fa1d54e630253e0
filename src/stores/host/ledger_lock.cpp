#include "stores/host/ledger_lock.hpp"

#include "stores/host/futex.hpp"
#include "stores/host/temporary_error.hpp"

#include <algorithm>

#include <errno.h>

namespace mortise::inline v0::stores::host {
namespace {

using std::chrono::milliseconds;

constexpr long shortest_nap_ns = 5'000'000;
constexpr long longest_nap_ns = 40'000'000;  // after each nap, every waiter asks the kernel whether the owner lives

void relax_processor() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace

void ledger_lock::take(std::uint32_t owner_word, milliseconds at_most) {
    std::atomic<std::uint32_t>& lock = file_.header().lock;
    std::uint32_t seen = 0;
    int looks = 50;  // it is rarely held for longer than that
    while (!lock.compare_exchange_strong(seen, owner_word)) {
        if (--looks == 0) return take_slowly(owner_word, at_most);
        relax_processor();
        seen = 0;
    }
}

void ledger_lock::take_slowly(std::uint32_t owner_word, milliseconds at_most) {
    std::atomic<std::uint32_t>& lock = file_.header().lock;
    const auto begun = std::chrono::steady_clock::now();
    timespec nap{0, shortest_nap_ns};
    while (true) {
        if (file_.damaged()) file_.fail_damaged();
        std::uint32_t seen = lock.load();
        if (seen == 0) {
            if (lock.compare_exchange_strong(seen, owner_word | 1)) return;
            continue;
        }
        if ((seen & 1) == 0 && !lock.compare_exchange_strong(seen, seen | 1)) continue;
        if (futex(lock, FUTEX_WAIT, seen | 1, &nap) == 0 || errno == EAGAIN) continue;
        nap.tv_nsec = std::min(2 * nap.tv_nsec, longest_nap_ns);
        const process_slot owner = slots_.slot_in(seen);
        if (!slots_.alive(owner)) {
            seen |= 1;
            file_.header().turns.fetch_add(1, std::memory_order_relaxed);
            if (lock.compare_exchange_strong(seen, owner_word | 1)) return;
            continue;
        }
        const auto idle = no_progress_for();
        const auto waited = std::chrono::steady_clock::now() - begun;
        const std::string inside = std::to_string(std::chrono::duration_cast<milliseconds>(idle).count());
        if (idle > ledger_patience && slots_.stopped(owner))
            file_.fail(errc::unreachable, slots_.describe(owner) + " is stopped inside the store, for " + inside +
                                              " ms now; kill -CONT it, or kill it");
        if (at_most < ledger_patience ? waited > at_most : idle > 10 * ledger_patience)
            throw temporary_error(errc::unreachable, "host store in " + file_.where().directory + ": " +
                                                         slots_.describe(owner) + " has been inside the store for " +
                                                         inside + " ms; is the machine overloaded?");
    }
}

// How long the lock has had the same owner, as far as this process saw. Kept between calls, so that of many threads that meet
// a stopped owner only the first waits in full.
std::chrono::steady_clock::duration ledger_lock::no_progress_for() noexcept {
    const std::uint64_t turns = file_.header().turns.load(std::memory_order_relaxed);
    const auto now = std::chrono::steady_clock::now();
    if (turns != seen_turns_ || seen_since_ == std::chrono::steady_clock::time_point{}) {
        seen_turns_ = turns;
        seen_since_ = now;
    }
    return now - seen_since_;
}

void ledger_lock::give_back() noexcept {
    file_header& header = file_.header();
    header.turns.fetch_add(1, std::memory_order_relaxed);
    if ((header.lock.exchange(0) & 1) != 0) futex(header.lock, FUTEX_WAKE, 1, nullptr);
}

}  // namespace mortise::inline v0::stores::host
