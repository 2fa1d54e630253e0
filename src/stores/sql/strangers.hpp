// Servers of another kind, by the first bytes that they say. Pure.
#pragma once

#include <mortise/config.hpp>

#include <string>
#include <string_view>

namespace mortise::inline v0::stores::sql {

// What speaks so, "a Redis server"; empty if it is not known.
std::string server_that_says(std::string_view first_bytes);

// Of a server at this place that is not what the address says: one line for people.
std::string wrong_server(const std::string& where, std::string_view first_bytes, const std::string& wanted);

}  // namespace mortise::inline v0::stores::sql
