#pragma once

#include <mortise/spi/fixture.hpp>

namespace mortise::inline v0::stores::zookeeper {

spi::fixtures make_fixtures();

// The claims that the servers of an address have nodes of.
std::vector<spi::stored_claim> records_at(const std::string& url);

}  // namespace mortise::inline v0::stores::zookeeper
