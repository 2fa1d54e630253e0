// The MariaDB of the stage.
#pragma once

#include "lab/stage/raw_sql.hpp"

#include <chrono>
#include <memory>
#include <string>

namespace lab {

// One server with one database. It waits on absolute times of the wall clock, so its clock must not stand still: it goes on, and
// is moved ahead with the stage's time. So it is at least as late as the stage; a lease of ours on it must be longer than the story
// takes in real time. Plain connections see the stage's time all the same (traced_sql).
//
// Each actor is a user of its own, by which the server knows its connections.
class mariadb {
public:
    virtual ~mariadb() = default;

    virtual void clear() = 0;                             // an empty database, after everybody has left it
    virtual void run(const std::string& statements) = 0;  // with "; " between them
    virtual std::string value(const std::string& statement) = 0;
    virtual void set_ahead(std::chrono::nanoseconds by) = 0;  // of the wall clock

    virtual sql_account account_of(const std::string& user) const = 0;
    virtual void admit(const std::string& user) = 0;
    virtual void await_departure(const std::string& user) = 0;

    // How many transactions wait for a lock, now. Whoever is about to be ended by a deadlock is not among them.
    virtual int lock_waits() = 0;
};

// Throws not_installed if this build, or this machine, has none.
std::unique_ptr<mariadb> start_mariadb(const std::string& shim);

}  // namespace lab
