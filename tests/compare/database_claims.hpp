// What tutorials say of database locks, measured on MariaDB.
#pragma once

#include "compare/compared_stores.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace mortise::compare {

// A counter in a row that several writers raise at once: by reading it and changing it if its version is the same, or under a lock.
struct conflict_result {
    std::string writers;  // "8 writers, `version`, retried at once"
    double changes = 0;   // per second
    double attempts = 0;  // for one change
    std::chrono::nanoseconds client{};
    std::chrono::nanoseconds server{};  // processor time for one change
};
std::vector<conflict_result> conflicts(compared_stores& all, std::chrono::milliseconds each);

// Forty claims that wait for one name, each by itself.
struct connection_result {
    std::string strategy;
    int connections = 0;    // that the server counts
    int refused = 0;        // of the forty, with the client's usual limit
    std::string refusal{};  // what it says
};
std::vector<connection_result> connections(compared_stores& all);

std::string table_of(const std::vector<conflict_result>& all);
std::string table_of(const std::vector<connection_result>& all);

}  // namespace mortise::compare
