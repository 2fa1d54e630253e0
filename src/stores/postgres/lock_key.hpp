// The number that the server knows a lock by.
#pragma once

#include <mortise/config.hpp>

#include <cstdint>
#include <string_view>

namespace mortise::inline v0::stores::postgres {

// An advisory lock has a number of 64 bits: the first of SHA-256(schema, NUL, name), big-endian. In SQL:
//
//   ('x' || left(encode(sha256(convert_to('SCHEMA', 'UTF8') || '\x00' || convert_to('NAME', 'UTF8')), 'hex'), 16))::bit(64)::bigint
//
// Two names with the same number would exclude each other, and nothing else: of a million names, any two do with a probability
// of 3 in 100 million.
std::int64_t lock_key(std::string_view schema, std::string_view name);

}  // namespace mortise::inline v0::stores::postgres
