// mortise-simulate: runs of the library's core on simulated time and network. A seed is a run, and always the same.
//
//   mortise-simulate --seeds 1000000 [--from 1] [--jobs 2] [--flaw NAME]   exit status 1: a seed was found; it is shrunk and told
//   mortise-simulate --seed 4711 [--flaw NAME]                             tells one run
#include "checker/simulate/dice.hpp"
#include "checker/simulate/simulation.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace {

using namespace mortise::simulation;

thread_local dice* ids = nullptr;

const std::map<std::string, flaw> flaws{{"none", flaw::none},
                                        {"counts_from_receipt", flaw::counts_from_receipt},
                                        {"forgets_the_name", flaw::forgets_the_name},
                                        {"deletes_whatever", flaw::deletes_whatever},
                                        {"expires_early", flaw::expires_early},
                                        {"repeats_tokens", flaw::repeats_tokens}};

// On a thread of its own, which has drawn no ids before.
template <class Call>
void apart(std::uint64_t seed, Call&& call) {
    std::thread{[&] {
        dice mine{seed ^ 0x5bd1e995u};
        ids = &mine;
        call();
        ids = nullptr;
    }}.join();
}

outcome run_seed(const plan& of, flaw with, bool keep_lines = false) {
    outcome had;
    apart(of.seed, [&] { had = run(of, with, keep_lines); });
    return had;
}

void tell(const plan& of, flaw with) {
    const outcome had = run_seed(of, with, true);
    std::cout << describe(of) << had.lines << (had.violation ? "VIOLATION: " + *had.violation : "no violation")
              << "\nhash " << std::hex << had.hash << std::dec << '\n';
}

struct sums {
    std::mutex mutex;
    std::uint64_t hash = 0, grants = 0, handed_over = 0, lost = 0, refused = 0, late_writes = 0;
    std::atomic<std::uint64_t> next{1}, worst{UINT64_MAX};

    void add(const outcome& had, std::uint64_t seed) {
        const std::scoped_lock guard{mutex};
        hash += had.hash * (2 * seed + 1);  // in any order
        grants += had.grants;
        handed_over += had.handed_over;
        lost += had.lost;
        refused += had.refused;
        late_writes += had.late_writes;
    }
};

int run_many(std::uint64_t from, std::uint64_t seeds, unsigned jobs, flaw with) {
    const auto begun = std::chrono::steady_clock::now();
    sums all;
    all.next = from;
    const auto work = [&] {
        for (std::uint64_t seed = all.next++; seed < from + seeds && all.worst == UINT64_MAX; seed = all.next++) {
            const outcome had = run_seed(plan_of(seed), with);
            all.add(had, seed);
            if (had.violation) {
                std::uint64_t before = all.worst;
                while (seed < before && !all.worst.compare_exchange_weak(before, seed)) {
                }
            }
        }
    };
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < jobs; ++i) workers.emplace_back(work);
    for (auto& each : workers) each.join();
    const double took = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    const std::uint64_t done = std::min(all.next.load(), from + seeds) - from;
    if (all.worst != UINT64_MAX) {
        plan smaller;
        apart(all.worst, [&] { smaller = plan_of(all.worst); });
        std::cout << "seed " << all.worst << " after " << done << " seeds; made smaller:\n";
        // Each try on a thread of its own, as the whole was.
        smaller = shrunk(smaller, with, [](const plan& of, flaw f) { return run_seed(of, f).violation.has_value(); });
        tell(smaller, with);
        return 1;
    }
    std::cout << done << " seeds in " << took << " s, no violation: grants=" << all.grants
              << " handed_over=" << all.handed_over << " lost=" << all.lost << " refused=" << all.refused
              << " late_writes=" << all.late_writes << " hash=" << std::hex << all.hash << std::dec << '\n';
    return 0;
}

}  // namespace

// What claim ids are made of. They decide how calls are spread, so that a run could not be repeated with other ones.
extern "C" ssize_t getrandom(void* to, size_t size, unsigned flags) {
    if (ids == nullptr) return ::syscall(SYS_getrandom, to, size, flags);
    for (size_t done = 0; done < size; done += 8) {
        const std::uint64_t word = ids->next();
        std::memcpy(static_cast<char*>(to) + done, &word, std::min<size_t>(8, size - done));
    }
    return static_cast<ssize_t>(size);
}

int main(int count, char** given) {
    std::map<std::string, std::string> options;
    for (int i = 1; i + 1 < count; i += 2) options[given[i]] = given[i + 1];
    const auto number = [&](const char* name, std::uint64_t otherwise) {
        const auto found = options.find(name);
        return found == options.end() ? otherwise : std::strtoull(found->second.c_str(), nullptr, 10);
    };
    const auto with = flaws.find(options.contains("--flaw") ? options["--flaw"] : "none");
    if (count % 2 == 0 || with == flaws.end() || !(options.contains("--seed") || options.contains("--seeds"))) {
        std::cerr << "usage: mortise-simulate --seeds N [--from SEED] [--jobs N] [--flaw NAME]\n"
                     "       mortise-simulate --seed SEED [--flaw NAME]\nflaws:";
        for (const auto& each : flaws) std::cerr << ' ' << each.first;
        std::cerr << '\n';
        return 64;
    }
    if (options.contains("--seed")) {
        tell(plan_of(number("--seed", 1)), with->second);
        return 0;
    }
    return run_many(number("--from", 1), number("--seeds", 1000), static_cast<unsigned>(number("--jobs", 1)),
                    with->second);
}
