// The ledger's own lock, between threads and processes, and the wait slots of callers that sleep.
#include "stores/host/format.hpp"

#include <climits>
#include <thread>

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace mortise::inline v0::stores::host {
namespace {

using std::chrono::milliseconds;

constexpr long shortest_nap_ns = 5'000'000;
constexpr long longest_nap_ns = 40'000'000;  // of a crowd, each asks the kernel after a nap whether the owner lives

long futex(std::atomic<std::uint32_t>& word, int op, std::uint32_t value, const timespec* timeout) {
    return ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), op, value, timeout, nullptr, 0);
}

void breathe() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace

ledger::access::access(ledger& of, milliseconds at_most) : of_(of), here_(of.threads_, std::defer_lock) {
    if (at_most >= std::chrono::seconds{1}) {  // none of them keeps it for much longer
        here_.lock();
    } else {
        const auto until = std::chrono::steady_clock::now() + at_most;
        while (!here_.try_lock()) {
            if (std::chrono::steady_clock::now() > until)
                throw not_now(errc::unreachable, "host store in " + of_.where_.directory +
                                                     ": another thread of this process is inside it");
            std::this_thread::sleep_for(std::chrono::microseconds{100});
        }
    }
    if (of_.damaged()) of_.fail_damaged();
    visiting_ = !of_.seats_->seated();
    if (visiting_) of_.seats_->begin_visit(at_most);
    try {
        of_.take(visiting_ ? seats::visitor_word : of_.seats_->word(), at_most);
        try {
            of_.reach();
            if (of_.head().journal.count != 0) {  // of one that was killed
                of_.undo();
                of_.reach();
            }
        } catch (...) {
            of_.give_back();
            throw;
        }
    } catch (...) {
        if (visiting_) of_.seats_->end_visit();
        throw;
    }
}

ledger::access::~access() {
    if (of_.head().journal.count != 0) of_.undo();
    of_.give_back();
    if (visiting_) of_.seats_->end_visit();
}

void ledger::take(std::uint32_t me, milliseconds at_most) {
    std::atomic<std::uint32_t>& lock = head().lock;
    std::uint32_t seen = 0;
    int looks = 50;  // it is rarely held for longer than that
    while (!lock.compare_exchange_strong(seen, me)) {
        if (--looks == 0) return take_slowly(me, at_most);
        breathe();
        seen = 0;
    }
}

void ledger::take_slowly(std::uint32_t me, milliseconds at_most) {
    std::atomic<std::uint32_t>& lock = head().lock;
    const auto begun = std::chrono::steady_clock::now();
    timespec nap{0, shortest_nap_ns};
    while (true) {
        if (damaged()) fail_damaged();
        std::uint32_t seen = lock.load();
        if (seen == 0) {
            if (lock.compare_exchange_strong(seen, me | 1)) return;
            continue;
        }
        if ((seen & 1) == 0 && !lock.compare_exchange_strong(seen, seen | 1)) continue;
        if (futex(lock, FUTEX_WAIT, seen | 1, &nap) == 0 || errno == EAGAIN) continue;
        nap.tv_nsec = std::min(2 * nap.tv_nsec, longest_nap_ns);
        const seat owner = seats_->seat_in(seen);
        if (!seats_->alive(owner)) {
            seen |= 1;
            head().turns.fetch_add(1, std::memory_order_relaxed);
            if (lock.compare_exchange_strong(seen, me | 1)) return;
            continue;
        }
        const auto still = not_moving_for();
        const auto waited = std::chrono::steady_clock::now() - begun;
        const auto inside = std::chrono::duration_cast<milliseconds>(still);
        if (still > patience && seats_->stopped(owner))
            fail(errc::unreachable, seats_->describe(owner) + " is stopped inside the store, for " +
                                        std::to_string(inside.count()) + " ms now; kill -CONT it, or kill it");
        if (at_most < patience ? waited > at_most : still > 10 * patience)
            throw not_now(errc::unreachable, "host store in " + where_.directory + ": " + seats_->describe(owner) +
                                                 " has been inside the store for " + std::to_string(inside.count()) +
                                                 " ms; is the machine overloaded?");
    }
}

// Since when the lock has been in the same hands, as far as this process saw. Kept between calls, so that of many threads
// that meet a stopped owner only the first waits in full.
std::chrono::steady_clock::duration ledger::not_moving_for() noexcept {
    const std::uint64_t turns = head().turns.load(std::memory_order_relaxed);
    const auto now = std::chrono::steady_clock::now();
    if (turns != seen_turns_ || seen_since_ == std::chrono::steady_clock::time_point{}) {
        seen_turns_ = turns;
        seen_since_ = now;
    }
    return now - seen_since_;
}

void ledger::give_back() noexcept {
    head().turns.fetch_add(1, std::memory_order_relaxed);
    if ((head().lock.exchange(0) & 1) != 0) futex(head().lock, FUTEX_WAKE, 1, nullptr);
}

// --- sleeping callers -------------------------------------------------------------------------------------------------

std::atomic<std::uint32_t>& ledger::wait_slot(std::uint32_t number) noexcept {
    return reinterpret_cast<std::atomic<std::uint32_t>*>(front_ +
                                                         format::wait_slots_at)[number / 2 % format::wait_slot_count];
}

bool ledger::sleep(std::atomic<std::uint32_t>& wait_slot, std::uint32_t seen) noexcept {
    const timespec at_most{1, 0};
    if (futex(wait_slot, FUTEX_WAIT, seen, &at_most) == 0 || errno == EAGAIN || errno == EINTR) return true;
    if (errno != ETIMEDOUT) std::this_thread::sleep_for(milliseconds{10});  // there is no file behind it any more
    return false;
}

bool ledger::wake(std::atomic<std::uint32_t>& wait_slot) noexcept {
    wait_slot.fetch_add(1);
    return futex(wait_slot, FUTEX_WAKE, INT_MAX, nullptr) > 0;
}

}  // namespace mortise::inline v0::stores::host
