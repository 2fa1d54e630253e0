// What --help prints. A screen of 24 lines and 80 columns holds each of them; a test looks.
#pragma once

#include "verbs.hpp"

#include <string>

namespace command {

std::string help();  // of the command
std::string help_of(const verb& which);

}  // namespace command
