#include "changes.hpp"

#include <algorithm>

namespace command {
namespace {

using mortise::held_lock;

// A turn inside one process has a token of its own, but it is the same hold to everybody else.
const held_lock* find(const std::vector<held_lock>& in, const held_lock& which) {
    const auto it = std::find_if(in.begin(), in.end(), [&](const held_lock& one) {
        return one.name == which.name && one.holder.token.counter() == which.holder.token.counter() &&
               one.holder.host == which.holder.host && one.holder.pid == which.holder.pid && one.weight == which.weight;
    });
    return it == in.end() ? nullptr : &*it;
}

std::size_t queue_of(const std::vector<held_lock>& in, const std::string& name) {
    const auto it = std::find_if(in.begin(), in.end(), [&](const held_lock& one) { return one.name == name; });
    return it == in.end() ? 0 : it->waiting;
}

}  // namespace

std::vector<lock_change> changes(const std::vector<held_lock>& before, const std::vector<held_lock>& after) {
    std::vector<lock_change> all;
    for (const held_lock& one : before)
        if (find(after, one) == nullptr) all.push_back({lock_change::what::released, one});
    for (const held_lock& one : after)
        if (find(before, one) == nullptr) all.push_back({lock_change::what::taken, one});
    const std::string* last = nullptr;  // a name with several holders has one queue
    for (const held_lock& one : after) {
        if (last != nullptr && *last == one.name) continue;
        last = &one.name;
        if (one.waiting != queue_of(before, one.name)) all.push_back({lock_change::what::queue, one});
    }
    return all;
}

}  // namespace command
