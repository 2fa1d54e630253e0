#include "patterns/inside.hpp"

#include "patterns/requirements.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <vector>

namespace mortise::inline v0::patterns {
namespace {

thread_local std::vector<std::string> entered;  // the innermost last

std::string place_of(const client& locks, std::string_view lock) {
    return locks.store() + ' ' + std::string(lock);
}

}  // namespace

inside::inside(const client& locks, std::string_view lock) {
    entered.push_back(place_of(locks, lock));
}

inside::~inside() {
    entered.pop_back();
}

bool inside::of(const client& locks, std::string_view lock) {
    return !entered.empty() && std::ranges::find(entered, place_of(locks, lock)) != entered.end();
}

void refuse_reentry(const client& locks, std::string_view lock, std::string_view pattern, const std::string& name,
                    std::string_view key) {
    if (!inside::of(locks, lock)) return;
    throw error(errc::would_deadlock,
                called(pattern, name) + ": a function that it called" +
                    (key.empty() ? " uses it again" : ", for " + shown(key) + ", asks for that again") +
                    ", and would wait for itself");
}

}  // namespace mortise::inline v0::patterns
