// What happened on the stage, in order.
#pragma once

#include "lab/stage/text.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace lab {

enum class kind : char {
    enters = 'e',    // an actor begins
    command = 'c',   // it sent this and got this answer
    point = 'p',     // it stands at a named point
    holds = 'h',     // it believes that it holds the lock, with this token (0: there is none)
    lets_go = 'g',   // it believes so no longer
    refused = 'r',   // it was told that the lock is not to be had
    asks = 'a',      // it is about to send what may wait in the server
    answered = 'A',  // and has its answer
    waits = 'w',     // it waits in line
    granted = 'G',   // a claim of ours was granted, with this token, and it goes on
    lost = 'l',      // its hold has ended, and it can know that
    sold = 's',      // it took one item out of the stock
    worked = 'k',    // it did what only one should do: a call of the backend, say
    clocked = 'o',   // it has timers that run on the stage's time
    failed = 'f',    // it ended with an error
    ends = 'x',      // it has ended
    crash = 'K',     // it was killed
    stop = 'S',      // it stands still, as in a long pause of garbage collection
    resume = 'R',
    pass = 'P',   // time passes
    stock = 'T',  // so many items are in the stock: at the beginning and at the end
    tell = 'N',   // the story speaks
};

// What a table without rows looks like in `event::state`.
inline constexpr std::string_view no_rows = "(no rows)";

// Before what was asked of one of several servers: "server 3: ".
inline text server_called(std::size_t number) {
    return {"server " + std::to_string(number) + ": ", "服务器 " + std::to_string(number) + "："};
}

struct event {
    lab::kind kind{};
    std::string actor{};  // empty: nobody's
    text what{};
    std::string state{};              // of the server, after it
    std::int64_t number = 0;          // the token of a hold, the items in stock
    std::chrono::nanoseconds time{};  // since the story began
};

using trace = std::vector<event>;

}  // namespace lab
