// `memory:` — the claim model inside one process, and the reference other stores are measured by.
#pragma once

#include "base/url.hpp"

#include <mortise/spi/store.hpp>

#include <memory>

namespace mortise::inline v0::stores::memory {

class memory_table;

// "memory:" is one table for the whole process, "memory:NAME" another. Throws errc::bad_url for anything else.
spi::store_factory open(const base::url& address);

// A table of one's own, on any clock: for tests.
std::shared_ptr<memory_table> make_table(std::shared_ptr<spi::clock> clock);
spi::store_factory open(std::shared_ptr<memory_table> shared);

}  // namespace mortise::inline v0::stores::memory
