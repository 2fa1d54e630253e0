// C7, order of arrival: who stood in line before another asked is granted before it.
#pragma once

#include "checker/verdict/judgement.hpp"

namespace mortise::checker {

// Of mutexes. A claim joins the line at some instant between its invoke and the record that it is queued, or its grant. The order of
// two is known if one was asked for after the other was in line, and only then. Tokens say in which order the store granted.
//
// A claim that lost its place because it did not answer its grant is excused, and counts from where it stands anew: nobody held
// the lock meanwhile, for `answered_in` at least. One that lost its place while the lock was in use is not.
judgement queue_order(const history& all, const std::vector<hold_span>& holds, std::int64_t answered_in);

}  // namespace mortise::checker
