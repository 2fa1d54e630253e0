// The heart of the shop: how one ticket is sold. The code is the same in every round; only the lock differs.
#include "seller.hpp"

#include "failure.hpp"
#include "settings.hpp"
#include "stock.hpp"
#include "till.hpp"

#include <mortise/mortise.hpp>

#include <chrono>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

// Reads the stock, takes the money, writes the stock back less one. Two sellers who read the same number sell the same
// ticket.
template <class Lock>
bool sell_one(const stock& shelf, Lock& lock) {
    std::scoped_lock guard{lock};
    const count seen = shelf.read();
    if (seen == 0) return false;
    std::this_thread::sleep_for(200us);  // the customer pays: time enough for another seller to look at the shelf
    shelf.write(seen - 1);
    return true;
}

void wait_for_the_doors() {
    char nothing = 0;
    while (::read(doors_descriptor, &nothing, 1) > 0) {
    }
}

// Many threads serve their customers, until the shelf is empty.
template <class Lock>
void sell(const settings& wanted, Lock& lock) {
    const stock shelf{descriptor{stock_descriptor}};
    const auto serve = [&] {
        try {
            for (count n = 0; n < wanted.customers_per_thread(); ++n) {
                if (!sell_one(shelf, lock)) return;
                tell_sold();  // the ticket is the customer's
            }
        } catch (...) {
            tell_trouble(current_failure());
        }
    };

    tell_ready();
    wait_for_the_doors();
    std::vector<std::jthread> threads;
    try {
        while (std::ssize(threads) < wanted.threads) threads.emplace_back(serve);
    } catch (const std::system_error& wrong) {
        tell_trouble({failed, "cannot start " + std::to_string(wanted.threads) + " threads: " + wrong.what()});
    }
}

// Locks nothing.
struct no_lock {
    void lock() {}
    void unlock() {}
};

void sell_with(std::string_view kind, const settings& wanted) {
    if (kind == "none") {
        no_lock none;
        sell(wanted, none);
    } else if (kind == "local") {
        std::mutex local;  // one in each process: it knows nothing of the others
        sell(wanted, local);
    } else {
        mortise::client locks{wanted.store, {.label = "ticket shop"}};
        mortise::mutex tickets{locks, lock_name};  // one for all: whoever uses this name on this store
        sell(wanted, tickets);
    }
}

}  // namespace

int be_seller(std::string_view lock) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // no seller outlives the shop
    try {
        sell_with(lock, settings{});
        return exact;
    } catch (...) {
        const failure why = current_failure();
        tell_trouble(why);
        return why.status;
    }
}
