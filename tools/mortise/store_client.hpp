// The client of the store that the settings name.
#pragma once

#include "settings.hpp"

#include <mortise/client.hpp>

#include <memory>

namespace command {

// --patience and -n are put into its options. With -v it says which store it is, and who named it.
std::shared_ptr<mortise::client> client_of(const settings& how, mortise::client_options options = {});

}  // namespace command
