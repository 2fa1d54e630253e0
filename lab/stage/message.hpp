// What an actor's process tells the director.
#pragma once

#include "lab/stage/trace.hpp"

#include <string>

namespace lab {

// A tick of the clock: it is answered when everything that it set off has been answered, or at once.
inline constexpr char settled_tick = 't';
inline constexpr char plain_tick = 'p';

std::string packed(const event&);
event unpacked(const std::string&);

}  // namespace lab
