// A story as rows and lanes: what every drawing of it shows. Time goes down; each row is one thing that happened.
#pragma once

#include "lab/stage/text.hpp"
#include "lab/stage/trace.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace lab {

// How a lane looks beside a row.
enum class line {
    none,         // the actor is not there
    idle,         // it is there
    waiting,      // it waits in line
    held,         // it believes that it holds the lock
    overlapping,  // and so does another
    expired,      // its lease has ended, and it goes on
};

struct cell {
    lab::line above = line::none;  // before what the row says
    lab::line below = line::none;  // and after it
    bool still_above = false;      // the actor is stopped
    bool still_below = false;
};

constexpr std::size_t nobody = static_cast<std::size_t>(-1);

struct row {
    lab::kind kind{};
    std::size_t lane = nobody;
    text what{};                // the command, or a sentence
    text answer{};              // of the server; empty: there is none
    std::vector<text> notes{};  // what it means
    std::vector<text> state{};  // of the server after it; none: it was not looked at
    bool state_is_new = false;  // it differs from what was known before
    std::string in_full{};      // as it was said, with the token's whole number
    std::chrono::nanoseconds time{};
    std::chrono::nanoseconds until{};  // the last time, if it was done several times
    int times = 1;                     // so often in a row
    bool bad = false;                  // here it goes wrong
    std::size_t token = 0;             // a hold begins here: the rank of its token, 0 if it has none
    bool takes = false;                // a hold begins here
    std::vector<cell> cells{};         // of all lanes
};

// A belief to hold the lock, from the mark of one row to the mark of another.
struct bar {
    std::size_t lane = 0;
    std::size_t from = 0;
    std::size_t to = 0;      // the number of rows: it does not end
    std::int64_t token = 0;  // 0: it has none
    std::size_t rank = 0;

    friend bool operator==(const bar&, const bar&) = default;
};

// Rows between whose marks two or more hold it.
struct overlap {
    std::size_t from = 0;
    std::size_t to = 0;

    friend bool operator==(const overlap&, const overlap&) = default;
};

struct layout {
    std::vector<std::string> lanes{};
    std::vector<row> rows{};
    std::vector<bar> bars{};
    std::vector<overlap> overlaps{};
};

// All of its text is harmless (columns.hpp); it is not escaped.
layout layout_of(const trace& all);

// "0 s", "9.9 s", "1 h", "1 h 20 s".
std::string elapsed(std::chrono::nanoseconds since_the_beginning);

}  // namespace lab
