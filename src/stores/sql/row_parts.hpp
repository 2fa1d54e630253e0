// What the parts of a client share. All of it outlives them.
#pragma once

#include "stores/sql/database.hpp"
#include "stores/sql/row_dialect.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <cstdint>
#include <memory>
#include <string>

namespace mortise::inline v0::stores::sql {

struct row_parts {
    const row_dialect dialect;
    const spi::context context;
    const std::int64_t session;  // a random number: the client, to the server
    std::shared_ptr<database> rows{};

    // A client that waits is taken for dead when nothing was heard of it for so long.
    static constexpr std::chrono::microseconds silence = std::chrono::seconds{10};
};

}  // namespace mortise::inline v0::stores::sql
