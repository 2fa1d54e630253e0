// What an operator should know of a host store.
#pragma once

#include <mortise/config.hpp>
#include <mortise/finding.hpp>

#include <vector>

namespace mortise::inline v0::stores::host {

class ledger;
struct place;

std::vector<finding> check_up(const place& where, ledger& records);

}  // namespace mortise::inline v0::stores::host
