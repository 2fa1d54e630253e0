// A lock that a verb acquired, and how it waits for it.
#pragma once

#include "inbox.hpp"
#include "signals.hpp"
#include "verbs.hpp"

#include <mortise/claim.hpp>
#include <mortise/client.hpp>

#include <memory>

namespace command {

// The result: a hold, or an exit code.
struct acquisition {
    std::shared_ptr<mortise::client> locks{};
    std::shared_ptr<inbox> news{};  // reports the loss of the hold
    mortise::hold hold{};           // empty: refused, and the reason was reported
    int code = 0;                   // to exit with, if refused
};

// Waits for the lock. Meanwhile it shows the holder (on a terminal, or with -v). It reports a refusal. A signal ends the wait: no
// waiter stays in the queue, and a grant that arrives nevertheless is released.
acquisition acquire_lock(const request& asked, mortise::claim wanted, const signal_source& signals);

}  // namespace command
