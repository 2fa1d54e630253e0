// PostgreSQL servers for tests.
#pragma once

#include <mortise/config.hpp>
#include <mortise/spi/fixture.hpp>

namespace mortise::inline v0::stores::postgres {

spi::fixtures make_fixtures();

}  // namespace mortise::inline v0::stores::postgres
