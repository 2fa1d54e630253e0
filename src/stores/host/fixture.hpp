#pragma once

#include <mortise/spi/fixture.hpp>

namespace mortise::inline v0::stores::host {

std::unique_ptr<spi::fixture> make_fixture();

}  // namespace mortise::inline v0::stores::host
