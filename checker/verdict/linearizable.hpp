// C4, linearizability: is there an order of all grants and releases, each at an instant within its call, that a lock could have
// answered so?
#pragma once

#include "checker/verdict/judgement.hpp"

#include <cstddef>

namespace mortise::checker {

enum class lock_model {
    mutex,      // one at a time; tokens and re-entries are not looked at
    reentrant,  // and who enters again is inside
    fenced,     // and each token is larger than those before
    read_write,  // many of a small weight or one of full weight; the token of a writer is larger than all before, that of a
                 // reader larger than those of writers
    semaphore,  // as many as fit
};

// Goes through time with the set of all states that the lock can be in (linearization just in time: Lowe, "Testing for
// linearizability", 2017), so histories of any length are searched whole; the windows of a search that goes back are not needed.
//
// What is unknown may have happened or not. A hold that was lost, or whose owner was killed, may have ended at any time after it
// was last seen to be valid. An acquire of unknown outcome is left out: having happened, it could only have kept others out.
//
// Stops at the first violation of each lock, for what follows it means nothing; and gives a lock up, undecided, if it can be in
// more than `most_states` states at once.
judgement linearizable(const std::vector<hold_span>& holds, lock_model model, const excuses& excused = {},
                       std::size_t most_states = 100'000);

}  // namespace mortise::checker
