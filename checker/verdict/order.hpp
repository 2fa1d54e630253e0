// C2, grant order: of two grants that exclude each other, the later has the larger token.
#pragma once

#include "checker/verdict/judgement.hpp"

namespace mortise::checker {

// A grant is certainly later than another if it was asked for after the other was answered. No two that exclude each other have
// the same token, whenever they were. To enter again what one holds gives the same token once more.
//
// A turn that a client took of a grant that the store had forgotten is excused: its token is a turn of the old one.
judgement grant_order(const std::vector<hold_span>& holds, const excuses& excused = {});

}  // namespace mortise::checker
