// Rivals that ask several nodes at the same moment can split the votes, so that none has a majority and the lock is free. Whoever got
// a vote tries again soon; by chance not all at once. Pure.
#pragma once

#include "base/quorum_vote.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <optional>

namespace mortise::inline v0::base {

// The retries of one claim. Each waits for a random part of a time that doubles, and that is first some rounds of requests: long
// enough for one rival to be through before the next begins. After the last the caller is told that it is busy.
class split_retries {
public:
    static constexpr unsigned most = 5;

    // The pause before the next attempt, of which this one failed after `took`; `chance` is from 0 to 1. None: no rival split
    // the votes, as far as is known, or it was the last.
    std::optional<spi::duration> pause(const quorum_vote& failed, spi::duration took, double chance);

private:
    unsigned made_ = 0;
};

}  // namespace mortise::inline v0::base
