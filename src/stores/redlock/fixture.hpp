#pragma once

#include <mortise/spi/fixture.hpp>

namespace mortise::inline v0::stores::redlock {

spi::fixtures make_fixtures();

}  // namespace mortise::inline v0::stores::redlock
