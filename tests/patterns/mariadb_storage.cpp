#include "patterns/mariadb_storage.hpp"

#include <stdexcept>

#include <mariadb/mysql.h>

namespace mortise::testing {

const char* mariadb_storage::schema() {
    return "CREATE TABLE kept (id VARBINARY(200) PRIMARY KEY, fence BIGINT UNSIGNED NOT NULL, "
           "writer BIGINT UNSIGNED NOT NULL, bytes BLOB, written DATETIME(6)) ENGINE=InnoDB";
}

mariadb_storage::mariadb_storage(std::uint16_t port, const std::string& database) : connection_(::mysql_init(nullptr)) {
    if (::mysql_real_connect(connection_, "127.0.0.1", "mortise", "secret", database.c_str(), port, nullptr,
                             CLIENT_FOUND_ROWS) == nullptr)
        throw std::runtime_error(std::string("MariaDB: ") + ::mysql_error(connection_));
}

mariadb_storage::~mariadb_storage() {
    ::mysql_close(connection_);
}

std::string mariadb_storage::quoted(std::string_view text) {
    std::string out(2 * text.size() + 1, '\0');
    out.resize(::mysql_real_escape_string(connection_, out.data(), text.data(), text.size()));
    return "'" + out + "'";
}

std::uint64_t mariadb_storage::run(const std::string& statement) {
    if (::mysql_real_query(connection_, statement.data(), statement.size()) != 0)
        throw std::runtime_error(std::string("MariaDB: ") + ::mysql_error(connection_));
    return ::mysql_affected_rows(connection_);
}

std::optional<fenced_storage::entry> mariadb_storage::read(std::string_view key) {
    const std::scoped_lock alone{mutex_};
    run("SELECT bytes, fence = writer, TIMESTAMPDIFF(MICROSECOND, written, NOW(6)) FROM kept WHERE bytes IS NOT NULL "
        "AND id = " +
        quoted(key));
    const std::unique_ptr<MYSQL_RES, decltype(&::mysql_free_result)> rows{::mysql_store_result(connection_),
                                                                          &::mysql_free_result};
    const MYSQL_ROW row = rows ? ::mysql_fetch_row(rows.get()) : nullptr;
    if (row == nullptr) return std::nullopt;
    const unsigned long* const sizes = ::mysql_fetch_lengths(rows.get());
    return entry{std::string(row[0], sizes[0]), std::chrono::microseconds{std::stoll(row[2])}, row[1][0] == '1'};
}

bool mariadb_storage::seal(std::string_view key, token mine) {
    const std::scoped_lock alone{mutex_};
    const std::string raise = "UPDATE kept SET fence = " + to_string(mine) + " WHERE id = " + quoted(key) +
                              " AND fence <= " + to_string(mine);
    if (run(raise) == 1) return true;
    if (run("INSERT IGNORE INTO kept (id, fence, writer) VALUES (" + quoted(key) + ", " + to_string(mine) + ", 0)") ==
        1)
        return true;
    return run(raise) == 1;
}

bool mariadb_storage::write(std::string_view key, token mine, std::string_view bytes, std::chrono::nanoseconds) {
    const std::scoped_lock alone{mutex_};
    return run("UPDATE kept SET bytes = " + quoted(bytes) +
               ", writer = fence, written = NOW(6) WHERE id = " + quoted(key) + " AND fence = " + to_string(mine)) == 1;
}

}  // namespace mortise::testing
