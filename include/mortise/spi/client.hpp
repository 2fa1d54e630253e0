// Clients with a custom store, clock or notifier, for tests and wrappers.
#pragma once

#include <mortise/client.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/clock.hpp>
#include <mortise/spi/store.hpp>

namespace mortise::inline v0 {

namespace spi {

// The clock and notifier of a client. Null: the real one.
struct world {
    std::shared_ptr<spi::clock> clock{};
    std::shared_ptr<spi::notifier> notifier{};
};

// A client with this store, and with this clock and notifier.
MORTISE_API client make_client(const store_factory& store, world around = {}, client_options options = {});

// The factory of the store with this URL, for wrappers.
MORTISE_API store_factory factory_of(std::string_view store_url);

}  // namespace spi

}  // namespace mortise::inline v0
