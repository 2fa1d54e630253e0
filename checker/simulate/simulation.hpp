// One simulated run, judged: whole clients of the library against a server and a network that follow a plan.
//
//   - At no instant do the valid holds of a name weigh more than its capacity.
//   - A call that began after another was granted has a larger token, if the two conflict.
//   - No update of a sealed resource is lost.
//   - Every call of a client that lives is answered once; and when all is over, nothing is left at the server.
#pragma once

#include "checker/simulate/plan.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace mortise::simulation {

struct outcome {
    std::optional<std::string> violation{};
    std::uint64_t hash = 0;  // of all that happened: the same seed has the same
    std::string lines{};     // what happened, if that was wanted
    std::uint64_t grants = 0, handed_over = 0, lost = 0, refused = 0, late_writes = 0;
};

outcome run(const plan& of, flaw with = flaw::none, bool keep_lines = false);

// With fewer calls and faults, as long as `breaks` says that it breaks something.
plan shrunk(plan of, flaw with, const std::function<bool(const plan&, flaw)>& breaks);

}  // namespace mortise::simulation
