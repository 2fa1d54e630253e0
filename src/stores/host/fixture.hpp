#pragma once

#include <mortise/spi/fixture.hpp>

namespace mortise::inline v0::stores::host {

spi::fixtures make_fixtures();

// Of host:DIRECTORY.
std::vector<spi::stored_claim> records_in(const std::string& directory);

}  // namespace mortise::inline v0::stores::host
