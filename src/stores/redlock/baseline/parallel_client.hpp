// A blocking client of several Redis servers: sends a command to all of them, and reads until a majority has answered.
#pragma once

#include "net/transport.hpp"

#include <mortise/config.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace mortise::inline v0::stores::redlock {

// As plain as can be: no TLS, no password, and replies of one line only. Throws mortise::error.
class parallel_client {
public:
    explicit parallel_client(const std::vector<std::string>& hosts);

    // Returns when a majority has answered. What the others answer later is skipped.
    void ask(std::string_view command);

private:
    struct line {
        std::unique_ptr<net::transport> socket;
        std::size_t due = 0;  // replies
    };
    std::size_t read(line& from);

    std::vector<line> lines_;
};

}  // namespace mortise::inline v0::stores::redlock
