// The ticket shop: many buyers, one stock. Sold once without a lock and once with one.
//
// Every buyer reads the stock, pays, writes the stock back and takes a ticket. Without a lock two buyers read the same
// number, both write it back less one, and two people own one ticket: oversold. The code of both rounds is the same;
// only the lock differs. The stock is an atomic number, so the race is in the shop's logic, not in the language.
#include <mortise/mortise.hpp>

#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <latch>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using count = long long;

constexpr const char* help =
    "usage: ticket_shop [--help]\n"
    "\n"
    "Sells tickets from several threads, first without a lock, then with a mortise::mutex.\n"
    "\n"
    "  SHOP_STOCK     tickets to sell, 1 to 10000000 (2000)\n"
    "  SHOP_THREADS   buyers at once, 1 to 256 (8)\n"
    "  MORTISE_STORE  where the lock lives (memory:)\n"
    "\n"
    "Exit status: 0 the locked round was exact, 1 it was not, 64 usage, 69 store unreachable, 78 bad store address.\n";

enum exit_status { exact = 0, inexact = 1, usage = 64, unreachable = 69, configuration = 78 };

struct failure {
    exit_status status;
    std::string message;
};

// One printable line, whatever the environment held.
std::string one_line(std::string_view text, std::size_t most = 400) {
    std::string line{text.substr(0, most)};
    for (char& c : line)
        if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') c = '?';
    return text.size() > most ? line + "..." : line;
}

count number_from(const char* variable, count otherwise, count most) {
    const char* given = std::getenv(variable);
    if (given == nullptr) return otherwise;
    const std::string_view text{given};
    count number = 0;
    const auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (ec != std::errc{} || end != text.data() + text.size() || number < 1 || number > most)
        throw failure{usage, std::string{variable} + " must be a whole number from 1 to " + std::to_string(most) +
                                 ", not \"" + one_line(text, 40) + "\""};
    return number;
}

struct sale {
    count stock = number_from("SHOP_STOCK", 2000, 10'000'000);
    count buyers = number_from("SHOP_THREADS", 8, 256);
};

// What a round came to. Oversold: tickets sold beyond the stock. Lost: taken from the stock, but nobody has them.
struct tally {
    const char* lock;
    count stock, sold, left;
    std::chrono::duration<double> took;

    count oversold() const { return sold > stock ? sold - stock : 0; }
    count lost() const { return stock - left > sold ? stock - left - sold : 0; }
    count per_second() const { return static_cast<count>(static_cast<double>(sold) / took.count()); }
    bool is_exact() const { return sold == stock && left == 0; }
};

// Repaints a line on standard error while a round runs; on anything but a terminal it does nothing.
class progress_bar {
public:
    progress_bar(const char* lock, count stock, const std::atomic<count>& left) {
        if (isatty(STDERR_FILENO) == 0) return;
        painter_ = std::jthread{[=, &left](std::stop_token done) {
            std::mutex mutex;
            std::condition_variable_any tick;
            std::unique_lock lock_tick{mutex};
            do {
                const auto share =
                    static_cast<double>(stock - left.load(std::memory_order_relaxed)) / static_cast<double>(stock);
                const std::string bar(static_cast<std::size_t>(share * 40), '#');
                std::fprintf(stderr, "\r%-8s [%-40s] %3.0f %%", lock, bar.c_str(), share * 100);
            } while (!tick.wait_for(lock_tick, done, 50ms, [&] { return done.stop_requested(); }));
            std::fputs("\r\033[K", stderr);
        }};
    }

private:
    std::jthread painter_;
};

// Locks nothing.
struct no_lock {
    void lock() {}
    void unlock() {}
};

// One round: all buyers start together and buy until they see an empty shelf. `lock` is any BasicLockable.
template <class Lock>
tally run_round(const char* name, Lock& lock, const sale& wanted) {
    std::atomic<count> left{wanted.stock};
    std::atomic<count> sold{0};
    std::atomic<bool> closed{false};
    std::latch doors{wanted.buyers};
    std::mutex failing;
    std::exception_ptr failed;

    const auto buy_one = [&] {
        std::scoped_lock guard{lock};
        const count seen = left.load(std::memory_order_relaxed);
        if (seen == 0) return false;
        std::this_thread::sleep_for(100us);  // paying: time enough for another buyer to look at the shelf
        left.store(seen - 1, std::memory_order_relaxed);
        return true;
    };
    const auto buyer = [&] {
        doors.arrive_and_wait();
        try {
            while (!closed && buy_one()) ++sold;
        } catch (...) {
            closed = true;
            std::scoped_lock guard{failing};
            failed = std::current_exception();
        }
    };

    const auto start = std::chrono::steady_clock::now();
    {
        const progress_bar bar{name, wanted.stock, left};
        std::vector<std::jthread> crowd;
        try {
            while (std::ssize(crowd) < wanted.buyers) crowd.emplace_back(buyer);
        } catch (...) {  // no more threads: let those that wait at the doors go home
            closed = true;
            doors.count_down(wanted.buyers - std::ssize(crowd));
            throw;
        }
    }
    if (failed) std::rethrow_exception(failed);
    return {name, wanted.stock, sold, left, std::chrono::steady_clock::now() - start};
}

void print(const std::vector<tally>& rounds) {
    std::printf("\n%-8s %10s %10s %10s %12s\n", "lock", "sold", "oversold", "lost", "per second");
    for (const tally& t : rounds)
        std::printf("%-8s %10lld %10lld %10lld %12lld\n", t.lock, t.sold, t.oversold(), t.lost(), t.per_second());
    std::puts("");
    for (const tally& t : rounds)
        std::printf("shop: lock=%s stock=%lld sold=%lld oversold=%lld lost=%lld per_second=%lld\n", t.lock, t.stock,
                    t.sold, t.oversold(), t.lost(), t.per_second());
    std::puts(
        "\nNext things to try:\n"
        "  SHOP_STOCK=300 SHOP_THREADS=32 ./quickstart  fewer tickets, more buyers\n"
        "  MORTISE_STORE=memry: ./quickstart            a mistyped store: what an error looks like\n"
        "  ./test                                       all tests");
}

int open_shop() {
    const sale wanted;
    const char* store = std::getenv("MORTISE_STORE");
    mortise::client locks{store != nullptr ? store : "memory:", {.label = "ticket shop"}};
    std::printf("%lld tickets, %lld buyers, store %s\n", wanted.stock, wanted.buyers, locks.store().c_str());

    no_lock none;
    mortise::mutex tickets{locks, "ticket"};
    const std::vector<tally> rounds{run_round("none", none, wanted), run_round("mortise", tickets, wanted)};
    print(rounds);
    return rounds.back().is_exact() ? exact : inexact;
}

exit_status status_of(const std::error_code& code) {
    using mortise::errc;
    if (code == errc::unreachable) return unreachable;
    const bool address = code == errc::bad_url || code == errc::unknown_store;
    return address ? configuration : inexact;
}

int complain(exit_status status, std::string_view message) {
    std::fprintf(stderr, "ticket_shop: %s\n", one_line(message).c_str());
    return status;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 2 && std::string_view{argv[1]} == "--help") return std::fputs(help, stdout), exact;
    if (argc > 1) return complain(usage, "unknown argument \"" + one_line(argv[1], 40) + "\"; try --help");
    try {
        return open_shop();
    } catch (const failure& wrong) {
        return complain(wrong.status, wrong.message);
    } catch (const mortise::error& wrong) {
        return complain(status_of(wrong.code()), wrong.what());
    } catch (const std::exception& wrong) {
        return complain(inexact, wrong.what());
    }
}
