// Clients that leave while a process stands still inside the store. Once it goes on, every claim in the ledger belongs to a
// client that is there and admits to it.
//
// make storms (MORTISE_STORMS_IN_FULL=1) does this for longer.
#include "checker/history/audit.hpp"

#include "stores/host/fixture.hpp"
#include "stores/host/ledger_access.hpp"
#include "stores/host/open_ledgers.hpp"
#include "support/host_suite.hpp"

#include <atomic>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <thread>

namespace mortise::stores::host {
namespace {

using namespace std::chrono_literals;
using namespace mortise::testing;

class host_audit : public host_suite {
protected:
    static std::size_t number_of_clients() { return std::getenv("MORTISE_STORMS_IN_FULL") != nullptr ? 500 : 100; }

    // A process that stops in the midst of the store's own lock.
    child stopped_inside() const {
        return child{[this] {
            const auto kept = open_ledger({directory_, true});
            ledger_access in{*kept};
            ::raise(SIGSTOP);
            return 0;
        }};
    }
    // Holds have no lease here, so nothing but their owner ends them.
    void expect_nothing_left(const char* what, std::size_t claims, const std::vector<const client*>& clients) const {
        const audit_verdict found = audit(
            2s, [&] { return records_in(directory_); }, [&] { return admitted_by(clients); });
        std::cout << what << ": claims=" << claims << " orphans=" << found.orphans.size()
                  << " idle=" << found.idle.size() << "\n";
        EXPECT_TRUE(found.innocent()) << what << ": " << found.describe();
    }
};

TEST_F(host_audit, of_clients_that_leave_while_a_process_stands_still_inside) {
    std::atomic<std::size_t> granted{0};
    client stays{url_};
    const hold kept = stays.acquire("kept");
    std::vector<std::unique_ptr<client>> leaving;
    std::vector<hold> held;
    for (std::size_t i = 0; i < number_of_clients(); ++i) {
        leaving.push_back(std::make_unique<client>(url_, client_options{.close_wait = 10ms}));
        held.push_back(leaving.back()->acquire(std::to_string(i)));
    }
    child culprit = stopped_inside();
    ASSERT_TRUE(culprit.stopped());
    leaving.clear();
    culprit.tell(SIGCONT);
    EXPECT_EQ(culprit.wait(), 0);

    // Somebody waits for each of them.
    for (std::size_t i = 0; i < held.size(); ++i)
        stays.start({.name = std::to_string(i)}, [&](const attempt& got) { granted += got ? 1 : 0; });
    expect_nothing_left("clients leave while a process is stopped inside", held.size(), {&stays});
    EXPECT_TRUE(eventually([&] { return granted == held.size(); })) << granted << " of " << held.size();
}

TEST_F(host_audit, of_releases_and_ended_waits_while_a_process_stands_still_inside) {
    std::atomic<std::size_t> ended{0};
    client here{url_, {.release_wait = 0s}};
    client there{url_};
    std::vector<hold> held;
    std::vector<hold> in_the_way;
    std::stop_source giving_up;
    constexpr std::size_t names = 100;
    for (std::size_t i = 0; i < names; ++i) {
        if (i % 2 == 0) {
            held.push_back(here.acquire(std::to_string(i)));
        } else {
            in_the_way.push_back(there.acquire(std::to_string(i)));
            here.start({.name = std::to_string(i), .options = {.stop = giving_up.get_token()}},
                       [&](const attempt&) { ++ended; });
        }
    }
    child culprit = stopped_inside();
    ASSERT_TRUE(culprit.stopped());
    for (hold& one : held) one.start_release([](release_result, std::error_code) {});
    giving_up.request_stop();
    culprit.tell(SIGCONT);
    EXPECT_EQ(culprit.wait(), 0);
    expect_nothing_left("releases while a process is stopped inside", names, {&here, &there});
    EXPECT_TRUE(eventually([&] { return ended == names / 2; }));
}

}  // namespace
}  // namespace mortise::stores::host
