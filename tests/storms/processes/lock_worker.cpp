// One process of a storm: takes a lock and gives it back, until told to leave. Uses the public library only, as a user's
// program would.
//
//   lock_worker <store> <arena file> <lane> <what> [threads]
//
// what: loop          until the arena is over or its quota reached, each thread on a lane of its own
//       pause         takes the lock and keeps it until killed
//       exit, quick_exit, _exit, abort, return
//                     takes the lock and ends in that way, still holding it
//       fork          as loop, and forks all the time; the children take the same lock with a client of their own, or end
//                     at once
#include "storms/processes/arena.hpp"

#include <mortise/client.hpp>

#include <chrono>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using mortise::testing::arena;
using namespace std::chrono_literals;

std::int64_t now() {
    return std::chrono::steady_clock::now().time_since_epoch().count();
}

void visit(arena& all, int lane, mortise::hold& mine) {
    const std::int64_t entered = now();
    all.enter(lane, mine.token().value(), entered);
    while (now() - entered < all.linger) std::this_thread::yield();
    all.leave(lane);
    mine.release();
}

void loop(mortise::client& locks, arena& all, int lane) {
    while (all.over == 0 && (all.quota == 0 || all.entries < all.quota)) {
        mortise::attempt got = locks.try_acquire("storm", {.wait = 500ms});
        if (got) {
            visit(all, lane, *got);
        } else if (got.reason() == mortise::errc::timed_out) {
            ++all.timeouts;
        } else {
            all.complain(got.refusal().describe());
        }
        ++all.lanes[lane].attempts;
    }
}

// The child of a process with many threads, all of them busy.
void born(const std::string& store, arena& all, int lane, mortise::client& of_parent, unsigned n) {
    if (n % 3 == 0) ::_exit(0);
    if (of_parent.try_acquire("storm").reason() != mortise::errc::forked)
        all.complain("the parent's client serves a child");
    mortise::client own{store};
    for (int i = 0; i < 3; ++i) {
        mortise::attempt got = own.try_acquire("storm", {.wait = 20s});
        if (!got) {
            all.complain("child: " + got.refusal().describe());
        } else if (n % 3 == 1 && i == 2) {
            all.enter(lane, got->token().value(), now());
            all.leave(lane);
            ::_exit(0);  // still holding
        } else {
            visit(all, lane, *got);
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
            ::alarm(60);
            born(store, all, lane, locks, n);
        }
        children.push_back(pid);
        if (children.size() == 3) {
            int status = 0;
            ::waitpid(children.front(), &status, 0);
            if (status != 0) all.complain("a child ended with status " + std::to_string(status));
            children.erase(children.begin());
            ++all.lanes[lane].attempts;
        }
    }
    for (const pid_t pid : children) ::waitpid(pid, nullptr, 0);
}

int run(const std::string& store, arena& all, int lane, const std::string& what, int threads) {
    mortise::client locks{store, {.label = "storm"}};
    if (what == "loop" || what == "fork") {
        std::vector<std::thread> crew;
        for (int i = 0; i < threads; ++i) crew.emplace_back([&, i] { loop(locks, all, lane + i); });
        if (what == "fork") fork_often(store, locks, all, lane + threads);
        for (std::thread& one : crew) one.join();
        return 0;
    }
    const mortise::hold mine = locks.acquire("storm", {.wait = 20s});
    all.enter(lane, mine.token().value(), now());
    if (what == "pause")
        while (true) ::pause();
    all.leave(lane);
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
        return run(given[1], arena::at(given[2]), std::atoi(given[3]), given[4], count > 5 ? std::atoi(given[5]) : 1);
    } catch (const std::exception& e) {
        std::cerr << "lock_worker: " << e.what() << "\n";
        return 1;
    }
}
