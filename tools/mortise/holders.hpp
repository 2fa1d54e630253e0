// Who holds a lock, in words and as JSON: the same in every verb.
#pragma once

#include "json.hpp"

#include <mortise/holder.hpp>

#include <optional>
#include <string>
#include <vector>

namespace command {

// "web-3 pid 4711 (nightly)"; "another program" if it has not said who it is
std::string holder_text(const mortise::holder& one);

// ", for 12 s"; nothing if it is not known, or no time at all
std::string held_for_text(const mortise::holder& one, const std::string& before = ", ");

// "alone", "reading", "2 of 5"
std::string share_of(const mortise::held_lock& one);

// "lease ends in 12 s"; nothing if that is not known, or there is no lease
std::string lease_left_text(const mortise::held_lock& one, const std::string& before = ", ");

// A line of headings, then one for each. `width`: columns of the terminal, where it is to fit into one: then long names and
// holders are cut, and if that is not enough the last columns are left out, and `hidden` says so.
std::vector<std::string> as_table(const std::vector<mortise::held_lock>& all, std::optional<std::size_t> width = {},
                                  std::string* hidden = nullptr);

json as_json(const mortise::holder& one);
json as_json(const mortise::held_lock& one);

}  // namespace command
