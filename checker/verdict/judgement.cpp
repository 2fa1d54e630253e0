#include "checker/verdict/judgement.hpp"

#include <algorithm>

namespace mortise::checker {

namespace {

bool any_between(const std::vector<std::int64_t>& moments, std::int64_t from, std::int64_t to) {
    const auto first = std::lower_bound(moments.begin(), moments.end(), from);
    return first != moments.end() && *first <= to;
}

}  // namespace

bool excuses::between(std::int64_t from, std::int64_t to) const noexcept {
    return any_between(moments, from, to) || std::any_of(spells.begin(), spells.end(), [&](const spell& one) {
               return one.begun <= to && from <= one.over;
           });
}

bool excuses::of_a_release(std::int64_t from, std::int64_t to) const noexcept {
    return any_between(releases, from, to);
}

std::string named(const operation& grant) {
    return "process " + std::to_string(grant.pid) + " with token " + std::to_string(grant.token);
}

}  // namespace mortise::checker
