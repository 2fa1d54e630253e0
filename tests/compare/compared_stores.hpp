// The servers that are compared: one of each, set up as an operator would who wants to keep what was committed.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace mortise::compare {

class compared_stores {
public:
    compared_stores();  // starts them; they are gone when this is
    ~compared_stores();
    compared_stores(const compared_stores&) = delete;
    compared_stores& operator=(const compared_stores&) = delete;

    struct store {
        std::string title;  // "MariaDB, row"
        std::string url;    // without a secret
    };
    // In the order of the tables. `trip`: what a proxy adds to the way there and back; those without a server are left out then.
    std::vector<store> all(std::chrono::nanoseconds trip = {});
    // The same key on one server and on five.
    std::vector<store> one_and_five(std::chrono::nanoseconds trip);

    // MariaDB, for what is no lock of ours.
    std::uint16_t mariadb_port() const;
    std::string mariadb(const std::string& statements, const std::string& database) const;  // as root
    int mariadb_process() const;
    std::string fresh_database();  // its name
    std::string mariadb_url(const std::string& database, const std::string& options) const;

private:
    struct parts;
    std::unique_ptr<parts> parts_;
};

}  // namespace mortise::compare
