// How long to wait before a store is asked again for the same claim. Pure.
#pragma once

#include "core/cohort.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

namespace mortise::inline v0::core {

// Queued: in case the push got lost, and to say in time who is in the way.
spi::duration pause_while_queued(const cohort& c, spi::duration patience);

// Answered busy though it would queue: the store has no queue, and is polled.
spi::duration pause_while_polling(cohort& c);

// Failed on the way.
spi::duration pause_after_failure(const cohort& c);

}  // namespace mortise::inline v0::core
