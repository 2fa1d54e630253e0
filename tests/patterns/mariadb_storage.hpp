// A fenced_storage in a table of MariaDB: the database behind a cache.
#pragma once

#include <mortise/patterns/fenced_storage.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

struct st_mysql;  // MYSQL

namespace mortise::testing {

// One connection, one statement at a time.
class mariadb_storage final : public fenced_storage {
public:
    mariadb_storage(std::uint16_t port, const std::string& database);
    ~mariadb_storage() override;

    // To be run once, before there are processes.
    static const char* schema();

    std::optional<entry> read(std::string_view key) override;
    [[nodiscard]] bool seal(std::string_view key, token mine) override;
    [[nodiscard]] bool write(std::string_view key, token mine, std::string_view bytes,
                             std::chrono::nanoseconds keep) override;

private:
    std::uint64_t run(const std::string& statement);  // how many rows it matched
    std::string quoted(std::string_view text);

    std::mutex mutex_;
    st_mysql* const connection_;
};

}  // namespace mortise::testing
