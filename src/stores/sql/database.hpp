// Runs statements until they have an answer that means something: makes the schema if it is missing, and repeats what was rolled
// back in favour of others.
#pragma once

#include "stores/sql/connection.hpp"
#include "stores/sql/statement.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/clock.hpp>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::sql {

// From any thread. Owned by a shared_ptr.
class database : public std::enable_shared_from_this<database> {
public:
    using then = connection::then;

    // `schema` outlives it. `remedy`: what to do if it may not be made.
    database(std::shared_ptr<connection> line, const std::vector<statement>& schema, std::string remedy,
             spi::clock& clock);

    void run(const statement& what, values bound, then done);

    connection& line() { return *line_; }

private:
    struct call;
    void send(const std::shared_ptr<call>& one);
    void make_schema(const std::shared_ptr<call>& for_whom);
    void make_part(std::size_t part);
    void schema_made(const outcome& how);

    const std::shared_ptr<connection> line_;
    const std::vector<statement>& schema_;
    const std::string remedy_;
    spi::clock& clock_;

    std::mutex mutex_;
    std::vector<std::shared_ptr<call>> waiting_;  // for the schema
};

}  // namespace mortise::inline v0::stores::sql
