// A client on a store, a clock and a notifier of one's own: for tests and for wrappers.
#pragma once

#include <mortise/client.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/clock.hpp>
#include <mortise/spi/store.hpp>

namespace mortise::inline v0 {

namespace spi {

// What is left empty is the real one.
struct world {
    std::shared_ptr<spi::clock> clock{};
    std::shared_ptr<spi::notifier> notifier{};
};

MORTISE_API client make_client(const store_factory& store, world around = {}, client_options options = {});

// The factory behind a URL: what a wrapper wraps.
MORTISE_API store_factory factory_of(std::string_view store_url);

}  // namespace spi

}  // namespace mortise::inline v0
