#pragma once

#include <mortise/spi/fixture.hpp>

namespace mortise::inline v0::stores::memory {

spi::fixtures make_fixtures();

}  // namespace mortise::inline v0::stores::memory
