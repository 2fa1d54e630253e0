// What is different between two looks at the locks of a store. Pure.
#pragma once

#include <mortise/holder.hpp>

#include <vector>

namespace command {

struct lock_change {
    enum class what { taken, released, queue };
    what is;
    mortise::held_lock lock;  // as it is now; a released one as it was
};

// Released first, then taken, then queues that grew or shrank, each in the order of names.
std::vector<lock_change> changes(const std::vector<mortise::held_lock>& before,
                                 const std::vector<mortise::held_lock>& after);

}  // namespace command
