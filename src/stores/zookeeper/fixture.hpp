#pragma once

#include <mortise/spi/fixture.hpp>

namespace mortise::inline v0::stores::zookeeper {

spi::fixtures make_fixtures();

// As a server of an address knows them.
std::vector<spi::stored_claim> records_at(const std::string& url);

}  // namespace mortise::inline v0::stores::zookeeper
