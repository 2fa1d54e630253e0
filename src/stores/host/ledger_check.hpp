// A check of a whole ledger, for tests and `mortise doctor`.
#pragma once

#include "stores/host/ledger_access.hpp"

#include <mortise/config.hpp>

#include <string>

namespace mortise::inline v0::stores::host {

// Whether every block is on exactly one list: empty if so, else what is wrong.
std::string find_damage(ledger_access& in);
std::string find_damage(ledger& in);

}  // namespace mortise::inline v0::stores::host
