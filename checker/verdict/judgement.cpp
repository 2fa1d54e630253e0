#include "checker/verdict/judgement.hpp"

#include <algorithm>

namespace mortise::checker {

bool excuses::between(std::int64_t from, std::int64_t to) const noexcept {
    const auto first = std::lower_bound(moments.begin(), moments.end(), from);
    return first != moments.end() && *first <= to;
}

std::string named(const operation& grant) {
    return "process " + std::to_string(grant.pid) + " with token " + std::to_string(grant.token);
}

}  // namespace mortise::checker
