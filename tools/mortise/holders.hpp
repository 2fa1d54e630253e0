// Who holds a lock, in words and as JSON: the same in every verb.
#pragma once

#include "json.hpp"

#include <mortise/holder.hpp>

#include <string>

namespace command {

// "web-3 pid 4711 (nightly)"
std::string who(const mortise::holder& one);

json as_json(const mortise::holder& one);
json as_json(const mortise::held_lock& one);

}  // namespace command
