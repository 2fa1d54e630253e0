// The data directory of a new server, copied from one that was made before: databases take seconds to make theirs.
#pragma once

#include <functional>
#include <string>

namespace mortise::testing {

// Calls `make`, which makes `directory`; or, if that was done before in this build with the same recipe, copies what it made then.
// The recipe is whatever changes the result: commands and their options.
void fill_data_directory(const std::string& directory, const std::string& recipe, const std::function<void()>& make);

}  // namespace mortise::testing
