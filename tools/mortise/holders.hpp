// Who holds a lock, in words and as JSON: the same in every verb.
#pragma once

#include "json.hpp"

#include <mortise/holder.hpp>

#include <string>
#include <vector>

namespace command {

// "web-3 pid 4711 (nightly)"; "another program" if it has not said who it is
std::string who(const mortise::holder& one);

// ", for 12 s"; nothing if it is not known, or no time at all
std::string how_long(const mortise::holder& one, const std::string& before = ", ");

// "alone", "reading", "2 of 5"
std::string share_of(const mortise::held_lock& one);

// A line of headings, then one for each.
std::vector<std::string> as_table(const std::vector<mortise::held_lock>& all);

json as_json(const mortise::holder& one);
json as_json(const mortise::held_lock& one);

}  // namespace command
