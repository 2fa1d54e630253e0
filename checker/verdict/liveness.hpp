// C5, liveness: when all faults are healed, locks are granted again, and soon; and nothing stays behind when all have left.
#pragma once

#include "checker/verdict/judgement.hpp"

namespace mortise::checker {

// Counted from the last heal of everything (act::heal with value 0): every acquire of a process that lives then ends, and with a
// grant, within `bound` of the heal or of its own beginning, whichever is later. A history without such a heal is not judged.
// Records of act::leftover say how much was left in the store at the end.
judgement liveness(const history& all, const std::vector<operation>& operations, std::int64_t bound);

}  // namespace mortise::checker
