// What a quorum promises, from what its nodes promise. Pure.
#pragma once

#include <mortise/config.hpp>
#include <mortise/promises.hpp>
#include <mortise/spi/quorum.hpp>

#include <span>

namespace mortise::inline v0::base {

mortise::promises promises_of_quorum(std::span<const mortise::promises> nodes, const spi::quorum_options& options);

}  // namespace mortise::inline v0::base
