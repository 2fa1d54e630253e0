#include "stores/mysql/baseline/blocking_client.hpp"

#include "net/library_tls.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>

#include <mariadb/mysql.h>

namespace mortise::inline v0::stores::mysql {

struct blocking_client::handle {
    std::unique_ptr<net::library_tls> tls{};
    MYSQL* mysql = nullptr;
    std::vector<MYSQL_STMT*> prepared{};

    [[noreturn]] void fail() const {
        throw error(errc::unreachable,
                    std::string(mysql_error(mysql)) + " (error " + std::to_string(mysql_errno(mysql)) + ")");
    }
    ~handle() {
        for (MYSQL_STMT* const one : prepared) mysql_stmt_close(one);
        mysql_close(mysql);
    }
};

blocking_client::blocking_client(const settings& how) : inside_(std::make_unique<handle>()) {
    static std::once_flag once;
    std::call_once(once, [] { mysql_library_init(0, nullptr, nullptr); });
    MYSQL* const made = inside_->mysql = mysql_init(nullptr);
    if (made == nullptr) throw error(errc::exhausted, "out of memory");
    const my_bool yes = 1;
    const my_bool no = 0;
    const unsigned seconds = 10;
    const unsigned protocol = MYSQL_PROTOCOL_TCP;
    mysql_optionsv(made, MYSQL_OPT_CONNECT_TIMEOUT, &seconds);
    mysql_optionsv(made, MYSQL_OPT_PROTOCOL, &protocol);
    if (how.tls.on) {
        if (!how.tls.ca.empty()) mysql_optionsv(made, MYSQL_OPT_SSL_CA, how.tls.ca.c_str());
        if (!how.tls.certificate.empty()) mysql_optionsv(made, MYSQL_OPT_SSL_CERT, how.tls.certificate.c_str());
        if (!how.tls.key.empty()) mysql_optionsv(made, MYSQL_OPT_SSL_KEY, how.tls.key.c_str());
        mysql_optionsv(made, MYSQL_OPT_SSL_ENFORCE, &yes);
        mysql_optionsv(made, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &no);
        inside_->tls = net::verify_library(how.tls, how.servers.front().host);
    }
    const net::library_tls::scope verified{inside_->tls.get()};
    const net::endpoint& to = how.servers.front();
    if (mysql_real_connect(made, to.host.c_str(), how.user.c_str(), how.password.c_str(), how.database.c_str(), to.port,
                           nullptr, CLIENT_FOUND_ROWS) == nullptr)
        inside_->fail();
    ask("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
}

blocking_client::~blocking_client() = default;

std::string blocking_client::ask(const std::string& statement) {
    MYSQL* const on = inside_->mysql;
    if (mysql_real_query(on, statement.data(), static_cast<unsigned long>(statement.size())) != 0) inside_->fail();
    if (mysql_field_count(on) == 0) return {};
    MYSQL_RES* const rows = mysql_store_result(on);
    if (rows == nullptr) inside_->fail();
    const MYSQL_ROW first = mysql_fetch_row(rows);
    std::string value = first != nullptr && first[0] != nullptr ? first[0] : "";
    mysql_free_result(rows);
    return value;
}

std::size_t blocking_client::prepare(const std::string& statement) {
    MYSQL_STMT* const made = mysql_stmt_init(inside_->mysql);
    if (made == nullptr) throw error(errc::exhausted, "out of memory");
    inside_->prepared.push_back(made);
    if (mysql_stmt_prepare(made, statement.data(), static_cast<unsigned long>(statement.size())) != 0) inside_->fail();
    return inside_->prepared.size() - 1;
}

std::uint64_t blocking_client::run(std::size_t prepared, std::vector<std::string> bound) {
    MYSQL_STMT* const what = inside_->prepared.at(prepared);
    std::vector<MYSQL_BIND> binds(bound.size());
    for (std::size_t i = 0; i < bound.size(); ++i) {
        binds[i].buffer_type = MYSQL_TYPE_BLOB;
        binds[i].buffer = bound[i].data();
        binds[i].buffer_length = static_cast<unsigned long>(bound[i].size());
    }
    if (!binds.empty()) mysql_stmt_bind_param(what, binds.data());
    if (mysql_stmt_execute(what) != 0) throw error(errc::unreachable, std::string(mysql_stmt_error(what)));
    return mysql_stmt_affected_rows(what);
}

std::vector<std::string> blocking_client::call(std::size_t prepared, std::vector<std::optional<std::string>> bound,
                                               std::size_t column) {
    constexpr unsigned ended = 1317;
    constexpr unsigned deadlock = 1213;
    constexpr unsigned lock_timeout = 1205;
    constexpr int most_conflicts = 10;
    MYSQL_STMT* const what = inside_->prepared.at(prepared);
    std::vector<MYSQL_BIND> binds(bound.size());
    for (std::size_t i = 0; i < bound.size(); ++i) {
        binds[i].buffer_type = bound[i] ? MYSQL_TYPE_BLOB : MYSQL_TYPE_NULL;
        if (!bound[i]) continue;
        binds[i].buffer = bound[i]->data();
        binds[i].buffer_length = static_cast<unsigned long>(bound[i]->size());
    }
    mysql_stmt_bind_param(what, binds.data());
    std::vector<std::string> all;
    int more = mysql_stmt_execute(what);
    for (int conflicts = 1; more > 0 && conflicts <= most_conflicts; ++conflicts) {
        if (mysql_stmt_errno(what) != deadlock && mysql_stmt_errno(what) != lock_timeout) break;
        mysql_rollback(inside_->mysql);
        std::this_thread::sleep_for(std::chrono::milliseconds{conflicts});
        more = mysql_stmt_execute(what);
    }
    for (; more == 0; more = mysql_stmt_next_result(what)) {
        if (mysql_stmt_field_count(what) == 0) continue;
        std::vector<MYSQL_BIND> columns(mysql_stmt_field_count(what));
        std::vector<char> room(256);
        unsigned long length = 0;
        for (MYSQL_BIND& one : columns) one.buffer_type = MYSQL_TYPE_NULL;
        columns.at(column).buffer_type = MYSQL_TYPE_BLOB;
        columns.at(column).buffer = room.data();
        columns.at(column).buffer_length = static_cast<unsigned long>(room.size());
        columns.at(column).length = &length;
        mysql_stmt_store_result(what);
        mysql_stmt_bind_result(what, columns.data());
        // The other columns have no room, so that it calls each row truncated.
        for (int got = mysql_stmt_fetch(what); got == 0 || got == MYSQL_DATA_TRUNCATED; got = mysql_stmt_fetch(what))
            all.emplace_back(room.data(), std::min<std::size_t>(length, room.size()));
        mysql_stmt_free_result(what);
    }
    if (more > 0 && mysql_stmt_errno(what) != ended)
        throw error(errc::unreachable, std::string(mysql_stmt_error(what)));
    return all;
}

}  // namespace mortise::inline v0::stores::mysql
