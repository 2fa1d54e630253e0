// What happens in one simulated run: calls and faults at given times. It follows from a seed, and can be made smaller.
#pragma once

#include <mortise/spi/store.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mortise::simulation {

// Ways to be wrong, to see that the simulation notices.
enum class flaw {
    none,
    counts_from_receipt,  // a pushed grant is counted from when it arrives
    forgets_the_name,     // asked for a claim that is over, the server has forgotten all about the name
    deletes_whatever,     // a release ends the hold of whoever has it
    expires_early,        // leases end at the server after three quarters
    repeats_tokens,       // grants do not raise the counter
};

struct call {
    spi::time_point at{};
    unsigned client = 0;
    unsigned name = 0;
    std::uint32_t weight = 1;
    spi::duration lease{};
    std::optional<spi::duration> wait{};  // none: for ever
    spi::duration holds{};
    bool renewed = true;
    bool hand_over = true;
};

struct fault {
    enum class kind { kill, pause, cut, freeze };
    spi::time_point at{};
    kind is = kind::pause;
    unsigned client = 0;  // freeze: the server instead
    spi::duration lasts{};
};

struct plan {
    std::uint64_t seed = 0;
    unsigned clients = 2;
    std::vector<double> rates{};         // of the clients' clocks; the server's is 1
    std::vector<std::uint32_t> names{};  // the capacity of each
    std::vector<call> calls{};
    std::vector<fault> faults{};
    double loses = 0, doubles = 0, delays = 0;  // how likely a message is lost, arrives twice, or is very late
    spi::duration usual_delay{}, long_delay{};
};

plan plan_of(std::uint64_t seed);
std::string describe(const plan& of);

}  // namespace mortise::simulation
