// The findings of `mortise doctor` on a host store.
#pragma once

#include <mortise/config.hpp>
#include <mortise/finding.hpp>

#include <vector>

namespace mortise::inline v0::stores::host {

class ledger;
struct store_directory;

// Without records if nobody has made any yet.
std::vector<finding> diagnose(const store_directory& where, ledger* records);

}  // namespace mortise::inline v0::stores::host
