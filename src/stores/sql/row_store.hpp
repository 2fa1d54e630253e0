// The strategy `row`: claims are rows of a table, in order of arrival. What is the server's own comes with the setup.
#pragma once

#include "stores/sql/driver.hpp"
#include "stores/sql/row_dialect.hpp"
#include "stores/sql/row_waker.hpp"

#include <mortise/config.hpp>
#include <mortise/promises.hpp>
#include <mortise/spi/store.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace mortise::inline v0::net {
class poller;
}

namespace mortise::inline v0::stores::sql {

struct row_setup {
    row_dialect dialect;
    mortise::promises promises;
    std::vector<net::endpoint> servers;
    driver_factory make;
    std::chrono::nanoseconds timeout = std::chrono::seconds{2};
    std::string shown;   // the address, for people
    std::string schema;  // what an administrator runs before the first use

    // None: the server notifies. For a session; the poller and the clock outlive the waker.
    std::function<std::unique_ptr<row_waker>(std::int64_t, net::poller&, spi::clock&, row_woken)> waker{};

    // What only this server can be asked: appended to what check() finds. None: nothing.
    struct question {
        statement what;
        std::function<std::vector<finding>(const result&)> findings;
    };
    std::vector<question> questions{};
};

std::unique_ptr<spi::store> make_row_store(const std::shared_ptr<const row_setup>& setup, const spi::context& context);

}  // namespace mortise::inline v0::stores::sql
