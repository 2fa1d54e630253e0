// The till: a pipe from all seller processes to the shop. A message is one line, written in one piece:
//
//     ready                     a process has come to work
//     sold                      a customer has a ticket
//     trouble <status> <text>   a process cannot go on
#pragma once

#include "descriptor.hpp"
#include "failure.hpp"
#include "settings.hpp"

#include <chrono>
#include <string>
#include <string_view>

// The sellers' side. If the shop does not listen any more, the process ends.
void tell_ready();
void tell_sold();
void tell_trouble(const failure& why);

// The shop's side.
class till {
public:
    till() = default;
    explicit till(descriptor from) : from_(std::move(from)) {}

    // Waits for messages, so long at most, and takes in those that are there. False: there were none. Throws the first
    // trouble.
    bool listen(std::chrono::milliseconds at_most);

    // Whether the last seller has gone and everything is read.
    bool at_end() const { return from_.number() < 0; }

    count ready() const { return ready_; }
    count sold() const { return sold_; }

private:
    void note(std::string_view line);

    descriptor from_;
    std::string unread_;
    count ready_ = 0;
    count sold_ = 0;
};
