// What a server says first.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace lab {

// The beginning of what it answers to `question`; empty: it closed the connection. Throws command::failure if it cannot be reached,
// does not answer within `patience`, or a signal interrupts us.
std::string first_answer(const std::string& host, std::uint16_t port, std::string_view question,
                         std::chrono::nanoseconds patience);

}  // namespace lab
