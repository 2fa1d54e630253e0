// One process of a storm: takes a lock and gives it back, until told to leave. Uses the public library only, as a user's
// program would.
//
//   lock_worker <store> <arena file> <lane> <what> [threads]
//
// what: loop          until the arena is over, each thread on a lane of its own
//       pause         takes the lock and keeps it until killed
//       exit, quick_exit, _exit, abort, return
//                     takes the lock and ends in that way, still holding it
//       fork          as loop, and forks all the time; the children take the same lock with a client of their own, or end
//                     at once
#include "storms/processes/arena.hpp"
#include "storms/processes/claim_notes.hpp"

#include <mortise/client.hpp>
#include <mortise/spi/client.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using mortise::testing::arena;
using mortise::testing::claim_notes;
using namespace std::chrono_literals;

std::int64_t now() {
    return std::chrono::steady_clock::now().time_since_epoch().count();
}

mortise::claim_options wanted(const arena& all) {
    mortise::claim_options options{.wait = 500ms};
    if (all.fifo != 0) options.order = mortise::order::fifo;
    return options;
}

mortise::client_options client_of(const arena& all) {
    mortise::client_options options{.label = "storm"};
    if (all.lease != 0) options.lease = std::chrono::nanoseconds{all.lease};
    return options;
}

// One hold on the arena. Made before it is asked for.
class stay {
public:
    stay(arena& all, int lane) : all_(all), lane_(lane), newest_(all.newest_valid) {}

    void enter(const mortise::hold& mine) {
        const std::uint64_t token = mine.token().value();
        if (all_.lease != 0) {
            all_.enter_on_lease(lane_, token, newest_, now());
        } else {
            all_.enter(lane_, token, now());
        }
    }
    // Whether nobody has followed, as far as can be told.
    bool look(const mortise::hold& mine) { return all_.lease == 0 || all_.stays_on_lease(mine); }
    void linger(const mortise::hold& mine) {
        for (const std::int64_t entered = now(); now() - entered < all_.linger; std::this_thread::yield())
            if (!look(mine)) return;
        look(mine);  // also after a stay that was short, or during which it was stopped
    }
    void leave() {
        if (all_.lease != 0) {
            all_.leave_on_lease(lane_);
        } else {
            all_.leave(lane_);
        }
    }
    void visit(mortise::hold& mine) {
        enter(mine);
        if (look(mine)) linger(mine);
        leave();
        mine.release();
    }

private:
    arena& all_;
    const int lane_;
    const std::uint64_t newest_;
};

void loop(mortise::client& locks, arena& all, int lane) {
    const mortise::claim_options options = wanted(all);
    while (all.over == 0) {
        stay here{all, lane};
        mortise::attempt got = locks.try_acquire("storm", options);
        if (got) {
            here.visit(*got);
        } else if (got.reason() == mortise::errc::timed_out) {
            ++all.timeouts;
            const auto& holder = got.refusal().holder;
            if (holder && holder->pid == all.last_stopped) ++all.lanes[lane].named;
        } else if (all.served != 0 && got.reason() == mortise::errc::unreachable) {
            ++all.unanswered;  // its disk or processor was busy for longer than the wait
        } else {
            all.complain(lane, "attempt " + std::to_string(all.lanes[lane].attempts) + ": " + got.refusal().describe());
        }
        ++all.lanes[lane].attempts;
    }
}

// A store, as it is or bent for the purpose of the storm.
mortise::client connect(const std::string& store, const arena& all, const std::shared_ptr<claim_notes>& notes) {
    const mortise::client_options options = client_of(all);
    if (all.notes == 0) return mortise::client{store, options};
    auto inner = mortise::spi::factory_of(store);
    if (all.specimen != 0)
        inner = [inner](const auto& outer) { return std::make_unique<mortise::testing::hasty_store>(outer, inner); };
    return mortise::spi::make_client(
        [=](const auto& outer) { return std::make_unique<mortise::testing::noted_store>(outer, inner, notes); }, {},
        options);
}

// The child of a process with many threads, all of them busy.
void born(const std::string& store, arena& all, int lane, mortise::client& of_parent, unsigned n) {
    if (n % 3 == 0) ::_exit(0);
    if (of_parent.try_acquire("storm").reason() != mortise::errc::forked)
        all.complain(lane, "the parent's client serves a child");
    mortise::client own{store, client_of(all)};
    for (int i = 0; i < 3; ++i) {
        stay here{all, lane};
        mortise::attempt got = own.try_acquire("storm", {.wait = 90s});  // for the leases of dead ones, if need be
        if (!got) {
            all.complain(lane, "child: " + got.refusal().describe());
        } else if (n % 3 == 1 && i == 2) {
            here.enter(*got);
            here.look(*got);
            here.leave();
            ::_exit(0);  // still holding
        } else {
            here.visit(*got);
        }
    }
    ::_exit(0);
}

void fork_often(const std::string& store, mortise::client& locks, arena& all, int lane) {
    std::vector<pid_t> children;
    for (unsigned n = 0; all.over == 0; ++n) {
        const pid_t pid = ::fork();
        if (pid == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            ::alarm(280);
            born(store, all, lane, locks, n);
        }
        children.push_back(pid);
        if (children.size() == 3) {
            int status = 0;
            ::waitpid(children.front(), &status, 0);
            if (status != 0) all.complain(lane, "a child ended with status " + std::to_string(status));
            children.erase(children.begin());
            ++all.lanes[lane].attempts;
        }
    }
    for (const pid_t pid : children) ::waitpid(pid, nullptr, 0);
}

int run(const std::string& store, const std::string& page, int lane, const std::string& what, int threads) {
    arena& all = arena::at(page);
    const auto notes = std::make_shared<claim_notes>();
    mortise::client locks = connect(store, all, notes);
    if (what == "loop" || what == "fork") {
        const mortise::testing::census_answer answers{locks, all.census, page};
        std::vector<std::thread> crew;
        for (int i = 0; i < threads; ++i) crew.emplace_back([&, i] { loop(locks, all, lane + i); });
        if (what == "fork") fork_often(store, locks, all, lane + threads);
        for (std::thread& one : crew) one.join();
        if (all.notes != 0) notes->save(arena::notes_file(page, lane));
        return 0;
    }
    stay here{all, lane};
    const mortise::hold mine = locks.acquire("storm", {.wait = 90s});
    here.enter(mine);
    here.look(mine);
    if (what == "pause")
        while (true) ::pause();
    here.leave();
    if (what == "exit") std::exit(0);
    if (what == "quick_exit") std::quick_exit(0);
    if (what == "_exit") ::_exit(0);
    if (what == "abort") std::abort();
    return 0;
}

}  // namespace

int main(int count, char** given) {
    if (count < 5) {
        std::cerr << "usage: lock_worker <store> <arena file> <lane> <what> [threads]\n";
        return 2;
    }
    // Neither outlives the storm nor leaves a core file behind.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_CORE, &none);
    try {
        return run(given[1], given[2], std::atoi(given[3]), given[4], count > 5 ? std::atoi(given[5]) : 1);
    } catch (const std::exception& e) {
        std::cerr << "lock_worker: " << e.what() << "\n";
        return 1;
    }
}
