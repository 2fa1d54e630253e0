// How a verdict is told: to people, to programs, and as a page with a timeline.
#pragma once

#include "checker/campaign/campaign.hpp"

#include <iosfwd>
#include <string>

namespace mortise::checker {

std::string_view to_string(outcome) noexcept;  // "sound", "violated", "void"

void print(std::ostream& to, const campaign_result& of);
void print_json(std::ostream& to, const campaign_result& of);  // one line

// Self-contained: verdict, faults, and a timeline around the first violation, or of the beginning.
void print_page(std::ostream& to, const campaign_result& of);

}  // namespace mortise::checker
