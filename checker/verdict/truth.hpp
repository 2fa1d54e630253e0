// C6, no lies: what holders believe is what the store says.
#pragma once

#include "checker/verdict/judgement.hpp"

namespace mortise::checker {

// The store was asked now and then who holds what (act::truth, act::holder). Of each such look:
//
//   a hold that was valid from before it until after it is in it
//   a hold that had been released before it, with the store's answer, is not in it
//   who is in it was granted the lock, or may have been: an acquire had not ended, or its outcome is unknown
//
// Tokens are compared without their turns, of which a store knows nothing.
//
// A store that forgot has also forgotten which claims are over: it takes a repeat that arrives late for a new claim, which nobody
// renews. For so long (`lingers`) such a one may be in it.
judgement no_lies(const history& all, const std::vector<operation>& operations, const std::vector<hold_span>& holds,
                  const excuses& excused = {}, std::int64_t lingers = 0);

}  // namespace mortise::checker
