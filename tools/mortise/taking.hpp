// Waiting for a lock as verbs do that have nothing else to do meanwhile.
#pragma once

#include "inbox.hpp"
#include "signals.hpp"
#include "verbs.hpp"

#include <mortise/claim.hpp>
#include <mortise/client.hpp>

#include <memory>

namespace command {

struct taken {
    std::shared_ptr<mortise::client> locks{};
    std::shared_ptr<inbox> news{};  // tells of the loss
    mortise::hold hold{};           // empty: there is none, and it was said why
    int code = 0;                   // to exit with then
};

// Shows whom it waits for (on a terminal, or with -v), reports a refusal, and ends the wait on a signal: nothing stays behind
// in the queue, and a grant that comes all the same is given back.
taken take(const request& asked, mortise::claim wanted, const signal_source& signals);

}  // namespace command
