// A connection to a database that all threads of a client share: it connects when it is used, reconnects after a pause, and runs
// statements in the order in which they were given.
//
// A caller that waits for an answer reads the socket itself, for everybody (net/reader_turn.hpp), so that the answer to a single
// caller needs no thread switch; the client's io thread reads if no caller does.
//
// A statement whose answer does not come in time dooms the connection: the statement and all behind it end `unsure` or
// `unsent`, and the next one connects again.
#pragma once

#include "net/poller.hpp"
#include "net/reader_turn.hpp"
#include "stores/sql/driver.hpp"
#include "stores/sql/statement.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>
#include <mortise/unique_function.hpp>

#include <functional>
#include <memory>
#include <vector>

namespace mortise::inline v0::stores::sql {

// Safe to use from all threads. Owned by a shared_ptr. Calls nobody while it holds its mutex.
class connection : public std::enable_shared_from_this<connection> {
public:
    using then = unique_function<void(result)>;

    struct setup {
        std::vector<net::endpoint> servers;
        driver_factory make;
        spi::duration timeout = std::chrono::seconds{2};  // of connecting, and of an answer

        // Statements that are run on every new connection before any other, such as LISTEN. If one fails, the connection is given
        // up, and what waited for it fails with that outcome.
        struct greeting {
            const statement* what;
            values bound;
        };
        std::function<std::vector<greeting>()> greets{};

        // On the thread that reads. After an `up` or `down` the connection may have changed again.
        std::function<void()> up{};
        std::function<void(const outcome&)> down{};  // of a connection that was up
        std::function<void(notification)> notified{};
    };

    connection(setup with, spi::clock& clock, net::poller& sockets);
    ~connection();

    // Connects if need be. `patience`: of a statement that blocks in the server, how much longer its answer may take.
    void run(const statement& what, values bound, then done, spi::duration patience = {});

    // Messages may arrive without a statement: the io thread must read while no caller does, and a lost connection is made again
    // at once.
    void keep_up();

    // As of net::channel.
    bool wait(spi::sleeper& who);
    void nudge(const spi::sleeper& who) noexcept;
    static void will_wait(bool whether) noexcept;

    // Breaks it: a statement that blocks in the server ends `unsure`. The next statement connects again.
    void drop();

    // Calls nobody after it returns. What was not answered never is.
    void close() noexcept;
};

}  // namespace mortise::inline v0::stores::sql
