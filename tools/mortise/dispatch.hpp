// From a command line to an exit code.
#pragma once

#include <span>
#include <string>

namespace command {

// Prints what went wrong as one line on stderr, or as an object of JSON where that was asked for.
int dispatch(std::span<const std::string> line);

}  // namespace command
