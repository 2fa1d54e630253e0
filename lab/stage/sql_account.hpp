// Whom to connect to, and as whom.
#pragma once

#include <cstdint>
#include <string>

namespace lab {

struct sql_account {
    std::string host{};
    std::uint16_t port = 0;
    std::string user{};
    std::string database{};

    static constexpr const char* password = "secret";
    std::string url() const {
        return "mysql://" + user + ":" + password + "@" + host + ":" + std::to_string(port) + "/" + database;
    }
};

}  // namespace lab
