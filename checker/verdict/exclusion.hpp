// C1, timed exclusion: at no instant are two holds valid whose weights exceed the capacity.
#pragma once

#include "checker/verdict/judgement.hpp"

namespace mortise::checker {

// O(n log n), over all holds. A hold counts from the moment its owner had heard of the grant until valid() was last seen to be
// true: no clock but one is involved, and no wish of the library's.
judgement timed_exclusion(const std::vector<hold_span>& holds, const excuses& excused = {});

}  // namespace mortise::checker
