// One connection to a database, as its client library has it. PostgreSQL implements it with libpq, MySQL with libmariadb;
// all else is shared: who waits, reads, reconnects and times out is in connection.hpp, which is what strategies use.
//
//   open() --> connecting --> setting up the session --> up --> lost
//                  \__________________\______________________/
//
// A driver never blocks, starts no thread, keeps no clock, and calls nobody. It is used by one thread at a time, but not
// always by the same one. It is made for one attempt: after `lost` it is destroyed and another is made.
//
// What connection.hpp does with it:
//
//   driver->open(address); loop { poll(descriptor(), wants()); driver->advance(); take results and notifications; send() if ready() }
#pragma once

#include "net/endpoint.hpp"
#include "stores/sql/statement.hpp"

#include <mortise/config.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

namespace mortise::inline v0::stores::sql {

struct server_address {
    net::endpoint where{};  // as the user wrote it: to verify its certificate, and for messages
    std::string numeric{};  // what to connect to
};

class driver {
public:
    enum class state { connecting, up, lost };
    struct interest {
        bool read = false;
        bool write = false;
    };

    virtual ~driver() = default;  // closes the connection without waiting for the server

    // Begins to connect, and then sets up the session (time zone, isolation, timeouts): it is up once that is done. The address
    // is numeric, so that the client library does not block to resolve it.
    virtual void open(const server_address& to) = 0;

    // The server says nothing, and is given up in a moment. Says something that makes servers of other kinds answer, so that it can
    // be named. False: there is no such thing, or it was done.
    virtual bool provoke() { return false; }

    virtual state is() const = 0;
    // Of its socket; -1: none yet. It may change while it connects.
    virtual int descriptor() const = 0;
    // What advance() waits for. While up and idle that is `read`: a notification may arrive, or the end of the stream.
    virtual interest wants() const = 0;

    // Does all that can be done without blocking: goes on connecting, sends, reads.
    virtual void advance() = 0;

    // Whether send() may be called now. PostgreSQL pipelines, so it is as long as the connection is up (a limit on what is in
    // flight is fine); MySQL sends one statement at a time.
    virtual bool ready() const = 0;
    // Prepares the statement if need be, and runs it. Every statement is its own transaction, or a routine that is. Begins to
    // write at once. The result is taken later, in the order of sending; also that of a statement whose connection was lost,
    // which is `unsure` if a byte of it may have reached the server and `unsent` if not. The values stay where they are until then.
    virtual void send(const statement& what, std::span<const value> bound) = 0;

    // The next result that has arrived, if any. After `lost`, one for each statement that has none yet.
    virtual std::optional<result> next_result() = 0;
    // The same of notifications.
    virtual std::optional<notification> next_notification() = 0;

    // Why it is lost: kind unsent (with `unmet` and `hopeless`), denied, exhausted, ...
    virtual const outcome& trouble() const = 0;
};

// Makes a driver for the next attempt.
using driver_factory = std::function<std::unique_ptr<driver>()>;

}  // namespace mortise::inline v0::stores::sql
