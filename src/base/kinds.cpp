#include "base/kinds.hpp"

#include "base/limits.hpp"

namespace mortise::inline v0::base {
namespace {

std::string kind_of(std::uint32_t capacity) {
    if (capacity == 1) return "as a mutex";
    if (capacity == most_capacity) return "by readers and writers (shared_mutex)";
    return "as " + std::to_string(capacity) + " permits";
}

}  // namespace

std::string disagreement(std::uint32_t in_use, std::uint32_t claimed) {
    return "in use " + kind_of(in_use) + ", claimed " + kind_of(claimed) +
           ": all who use a name must agree on its kind";
}

}  // namespace mortise::inline v0::base
