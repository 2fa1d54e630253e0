// The ticket shop: several processes with several threads sell one stock, in three rounds.
//
//     none      nobody waits for anybody
//     local     a std::mutex in each process
//     mortise   a mortise::mutex on a store that all processes can reach
//
// The stock is a number in a file (stock.cpp). To sell is to read it, take the money and write it back less one: sell_one()
// in seller.cpp, the file to read first. This file holds the rounds and counts; crew.cpp looks after the processes, and
// till.cpp carries what they have to say.
#include "crew.hpp"
#include "failure.hpp"
#include "seller.hpp"
#include "settings.hpp"
#include "stock.hpp"

#include <mortise/mortise.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;
using namespace std::string_view_literals;

constexpr const char* help =
    "usage: ticket_shop [--help] [none] [local] [mortise]\n"
    "\n"
    "Several processes sell one stock of tickets: without a lock, with a std::mutex in each process, with a\n"
    "mortise::mutex. Without arguments all three rounds are held.\n"
    "\n"
    "  SHOP_STOCK      tickets to sell, 1 to 10000000 (500); at least twice as many customers come\n"
    "  SHOP_PROCESSES  processes that sell, 1 to 64 (4)\n"
    "  SHOP_THREADS    threads in each, 1 to 256 (4)\n"
    "  SHOP_PATIENCE   seconds without any sale until the shop gives up, 1 to 3600 (30)\n"
    "  MORTISE_STORE   where the lock lives (host:)\n"
    "\n"
    "Exit status: 0 the round with mortise was exact, 1 it was not or could not be held, 64 usage, 69 store\n"
    "unreachable, 78 bad store address, or a store that the processes cannot share.\n";

constexpr const char* epilogue =
    "\n"
    "none     nobody waits: sellers see the same number and sell the same ticket\n"
    "local    a std::mutex in each process: its threads wait for each other, other processes do not\n"
    "mortise  a mortise::mutex: one lock for all\n"
    "\n"
    "Next things to try:\n"
    "  SHOP_PROCESSES=1 ./quickstart                   one process: now the std::mutex is enough\n"
    "  SHOP_STOCK=100 SHOP_PROCESSES=16 ./quickstart   fewer tickets, more sellers\n"
    "  MORTISE_STORE=memory: ./quickstart              a store that does not reach far enough: what an error is like\n"
    "  ./test                                          all tests\n";

// What a round came to. Oversold: tickets sold beyond the stock. Lost: taken from the stock, but nobody has them.
struct tally {
    count stock, sold, left;
    std::chrono::duration<double> took;

    count oversold() const { return sold > stock ? sold - stock : 0; }
    count lost() const { return stock - left > sold ? stock - left - sold : 0; }
    count per_second() const { return static_cast<count>(static_cast<double>(sold) / took.count()); }
    bool is_exact() const { return sold == stock && left == 0; }
};

// Repaints a line on standard error while a round runs; on anything but a terminal it does nothing.
class progress {
public:
    explicit progress(const char* lock) : lock_(lock) {}
    ~progress() {
        if (terminal_) std::fputs("\r\033[K", stderr);
    }

    void paint(count sold) {
        const auto now = std::chrono::steady_clock::now();
        if (!terminal_ || now < next_) return;
        next_ = now + 50ms;
        std::fprintf(stderr, "\r\033[Klock=%s: %lld sold", lock_, sold);
    }

private:
    const char* lock_;
    bool terminal_ = ::isatty(STDERR_FILENO) != 0;
    std::chrono::steady_clock::time_point next_{};
};

tally run_round(const char* lock, const settings& wanted) {
    const stock shelf = stock::of(wanted.stock);
    crew sellers{lock, wanted};
    sellers.gather(shelf);
    const auto start = std::chrono::steady_clock::now();
    sellers.open_doors();
    progress line{lock};
    while (sellers.look()) line.paint(sellers.sold());
    return {wanted.stock, sellers.sold(), shelf.read(), std::chrono::steady_clock::now() - start};
}

// Whether the sellers can meet on the store: asked before the first round, so that nobody waits for a bad address.
// Answers the address as it may be shown.
std::string check_store(const settings& wanted) {
    mortise::client locks{wanted.store, {.label = "ticket shop"}};
    const std::string& reach = locks.promises().reach;
    if (wanted.processes > 1 && reach == "threads of one process")
        throw failure{configuration, "the store " + locks.store() + " is for " + reach + ", and " +
                                         std::to_string(wanted.processes) +
                                         " processes cannot meet on it; use MORTISE_STORE=host: or SHOP_PROCESSES=1"};
    (void)locks.acquire(lock_name, {.wait = wanted.patience});
    return one_line(locks.store());
}

void print(const char* lock, const std::string& store, const settings& wanted, const tally& t) {
    std::printf("shop: lock=%s%s processes=%lld threads=%lld", lock, store.c_str(), wanted.processes, wanted.threads);
    std::printf(" stock=%lld sold=%lld oversold=%lld lost=%lld", t.stock, t.sold, t.oversold(), t.lost());
    std::printf(" seconds=%.2f per_second=%lld\n", t.took.count(), t.per_second());
    std::fflush(stdout);
}

int open_shop(const std::vector<std::string_view>& rounds) {
    const settings wanted;
    const std::string store = check_store(wanted);
    std::printf("%lld tickets, %lld customers, %lld processes of %lld threads\n\n", wanted.stock, wanted.customers(),
                wanted.processes, wanted.threads);
    std::fflush(stdout);

    for (const char* lock : {"none", "local", "mortise"}) {
        if (!rounds.empty() && std::ranges::find(rounds, lock) == rounds.end()) continue;
        const bool ours = lock == "mortise"sv;
        const tally result = run_round(lock, wanted);
        print(lock, ours ? " store=" + store : "", wanted, result);
        if (ours && !result.is_exact()) throw failure{failed, "the round with mortise was not exact"};
    }
    std::fputs(epilogue, stdout);
    return exact;
}

int complain(const failure& why) {
    std::fprintf(stderr, "ticket_shop: %s\n", one_line(why.message).c_str());
    return why.status;
}

// Whoever started us may have closed what every program has, or be deaf to the end of its children.
void settle_in() {
    while (true) {
        const int number = ::open("/dev/null", O_RDWR);
        if (number > STDERR_FILENO) ::close(number);
        if (number < 0 || number > STDERR_FILENO) break;
    }
    ::signal(SIGCHLD, SIG_DFL);
}

}  // namespace

int main(int argc, char** argv) {
    const std::vector<std::string_view> words(argv + 1, argv + argc);
    if (words.size() == 2 && words[0] == seller_word) return be_seller(words[1]);
    for (const std::string_view word : words) {
        if (word == "--help") return std::fputs(help, stdout), exact;
        if (word != "none" && word != "local" && word != "mortise")
            return complain({usage, "unknown argument \"" + one_line(word, 40) + "\"; try --help"});
    }
    settle_in();
    try {
        return open_shop(words);
    } catch (...) {
        return complain(current_failure());
    }
}
