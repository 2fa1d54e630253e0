// Faults: each says what it is, does it, undoes it, and says whether anybody can have noticed.
#pragma once

#include "checker/campaign/crew.hpp"
#include "checker/faults/movable_clock.hpp"
#include "checker/faults/tcp_proxy.hpp"

#include <mortise/spi/fixture.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace mortise::checker {

struct trouble {
    std::string name{};
    bool forgets = false;  // as in spi::server_fault
    bool forgets_releases = false;
    std::function<bool(std::minstd_rand&)> strike{};
    std::function<bool()> heal{};
    double longest = 1.5;  // in leases
    int group = 0;         // of each group one at a time
};

// To processes: killed, stopped, one of its threads stopped, forked. `amid` names one that is between its read and its write, if there
// is one: rather that one.
std::vector<trouble> troubles_of(crew& workers, const std::function<pid_t()>& amid);

// To the network between one worker and the store; each has a proxy of its own.
std::vector<trouble> troubles_of(std::vector<std::unique_ptr<testing::tcp_proxy>>& network);

// To both: a process that loses its connections and may not open another.
std::vector<trouble> troubles_of(crew& workers, std::vector<std::unique_ptr<testing::tcp_proxy>>& network);

// To the wall clock that all workers see. They note when they see it jump.
std::vector<trouble> troubles_of(testing::movable_clock& clock);

// To servers that are ours.
std::vector<trouble> troubles_of(std::vector<spi::server_fault> faults);

}  // namespace mortise::checker
