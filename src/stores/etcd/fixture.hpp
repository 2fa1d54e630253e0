// Members for the tests.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/fixture.hpp>

namespace mortise::inline v0::stores::etcd {

spi::fixtures make_fixtures();

// As the first member of an address knows them, which must be awake.
std::vector<spi::stored_claim> records_at(const std::string& url);

}  // namespace mortise::inline v0::stores::etcd
