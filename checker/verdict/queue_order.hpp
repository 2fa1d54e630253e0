// C7, order of arrival: who stood in line before another asked is granted before it.
#pragma once

#include "checker/verdict/judgement.hpp"

namespace mortise::checker {

// Of mutexes. A claim joins the line at some instant between its invoke and the record that it is queued, or its grant. The order of
// two is known if one was asked for after the other was in line, and only then. Tokens say in which order the store granted.
judgement queue_order(const history& all, const std::vector<hold_span>& holds);

}  // namespace mortise::checker
