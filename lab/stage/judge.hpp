// What went wrong on the stage.
#pragma once

#include "lab/stage/trace.hpp"

#include <set>

namespace lab {

enum class mishap {
    overlap,      // two believe that they hold the lock
    stuck,        // nobody alive holds it, and somebody is refused, or waits for ever
    lost_update,  // the stock does not agree with what was sold
    repeated,     // what only one should do was done more than once
    herd,         // one lock comes free, and all who wait ask for it
    hangs,        // somebody waits for itself
    gives_up,     // a write is dropped because the lock was busy
};

text to_text(mishap);

// Whose beliefs overlap, what was lost, who was refused for nothing.
std::set<mishap> judged(const trace& all);

}  // namespace lab
