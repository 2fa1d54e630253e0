// What went wrong on the stage.
#pragma once

#include "lab/stage/trace.hpp"

#include <set>

namespace lab {

struct story;
enum class form;

enum class mishap {
    overlap,      // two believe that they hold the lock
    stuck,        // nobody alive holds it, and somebody is refused, or waits for ever
    lost_update,  // the stock does not agree with what was sold
    repeated,     // what only one should do was done more than once
    herd,         // one lock comes free, and all who wait ask for it
    hangs,        // somebody waits for itself
    gives_up,     // a write is dropped because the lock was busy
    deadlock,     // two wait for each other, and the server ends one of them
    exhausted,    // those who wait have all the connections
    fails,        // somebody ends with an error that the story does not tell
    idle,         // a lock that holds because nobody takes it, or nothing is done under it
};

text to_text(mishap);

// Whose beliefs overlap, what was lost, who was refused for nothing.
std::set<mishap> judged(const trace& all);

// The same of a story, which must have taken place: nobody fails unless it says so, and the mended form takes its lock and sells.
std::set<mishap> judged(const story& told, form played, const trace& all);

}  // namespace lab
