// A log of what operators did to the locks of a directory.
#pragma once

#include <mortise/config.hpp>

#include <string_view>

namespace mortise::inline v0::stores::host {

struct store_directory;

// Appends one line, with the time in front, to the file `record`. Past a mebibyte the old one is kept as `record.old`, and a
// new one begun. Best effort: what was done is done, whether or not it can be written down.
void log_operation(const store_directory& where, std::string_view line) noexcept;

}  // namespace mortise::inline v0::stores::host
