// mortise/sql/with_transaction.hpp: a library of its own, so that no other part of Mortise shows libpq to its users.
#include "stores/postgres/lock_key.hpp"

#include <mortise/error.hpp>
#include <mortise/sql/with_transaction.hpp>

#include <algorithm>
#include <memory>
#include <string>

#include <libpq-fe.h>

namespace mortise::inline v0::sql {
namespace {

using result_ptr = std::unique_ptr<PGresult, void (*)(PGresult*)>;

[[noreturn]] void fail(errc code, std::string_view name, const std::string& what) {
    throw error(code, "lock '" + std::string(name) + "': " + what);
}

// As base::check_name has it, which is inside of the library.
void check_name(std::string_view name) {
    const auto control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
    if (name.empty() || name.size() > 200 || std::any_of(name.begin(), name.end(), control))
        throw error(errc::invalid_name, "a lock's name has 1 to 200 bytes and no control characters");
}

std::string text_of(const PGresult* of, PGconn* on) {
    const char* const primary = PQresultErrorField(of, PG_DIAG_MESSAGE_PRIMARY);
    std::string text = primary != nullptr ? primary : PQerrorMessage(on);
    while (text.ends_with('\n')) text.pop_back();
    return text;
}

errc code_of(const PGresult* of, PGconn* on) {
    if (PQstatus(on) != CONNECTION_OK) return errc::unreachable;
    const char* const found = PQresultErrorField(of, PG_DIAG_SQLSTATE);
    const std::string_view state = found != nullptr ? found : "";
    if (state == "55P03" || state == "57014") return errc::timed_out;
    if (state == "40P01") return errc::would_deadlock;
    if (state == "42501") return errc::denied;
    return errc::lost;
}

result_ptr run(PGconn* on, const std::string& statement) {
    return {PQexec(on, statement.c_str()), PQclear};
}

bool worked(const result_ptr& how) {
    const ExecStatusType status = PQresultStatus(how.get());
    return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

}  // namespace

// In three statements: a lock timeout counts for what follows it in the transaction, so it is set back.
locked_transaction::locked_transaction(pg_conn* connection, std::string_view name, const transaction_options& options)
    : connection_(connection), name_(name) {
    check_name(name);
    if (options.wait && options.wait->count() < 0) fail(errc::invalid_option, name, "the wait must not be negative");
    if (PQstatus(connection_) != CONNECTION_OK) fail(errc::unreachable, name, "the connection is not open");
    if (PQtransactionStatus(connection_) != PQTRANS_IDLE)
        fail(errc::invalid_option, name, "the connection is busy, or in a transaction already; give one that is idle");
    const std::string key = std::to_string(stores::postgres::lock_key(options.schema, name));
    const auto step = [&](const std::string& statement) {
        const result_ptr how = run(connection_, statement);
        if (worked(how)) return std::string(PQntuples(how.get()) > 0 ? PQgetvalue(how.get(), 0, 0) : "");
        const errc code = code_of(how.get(), connection_);
        const std::string why = text_of(how.get(), connection_);
        static_cast<void>(run(connection_, "ROLLBACK"));
        fail(code, name_, why);
    };
    step("BEGIN");
    if (options.wait && options.wait->count() == 0) {
        if (step("SELECT pg_try_advisory_xact_lock(" + key + ")") == "t") return;
        static_cast<void>(run(connection_, "ROLLBACK"));
        fail(errc::timed_out, name, "it is held by somebody else");
    }
    const std::string was = step("SELECT current_setting('lock_timeout')");
    step("SET LOCAL lock_timeout = " + std::to_string(options.wait.value_or(std::chrono::milliseconds{0}).count()));
    step("SELECT pg_advisory_xact_lock(" + key + ")");
    step("SET LOCAL lock_timeout = '" + was + "'");
}

locked_transaction::~locked_transaction() {
    if (open_ && PQstatus(connection_) == CONNECTION_OK) static_cast<void>(run(connection_, "ROLLBACK"));
}

// The server answers COMMIT with ROLLBACK if a statement has failed.
void locked_transaction::commit() {
    if (PQtransactionStatus(connection_) == PQTRANS_IDLE && PQstatus(connection_) == CONNECTION_OK) {
        open_ = false;
        fail(errc::lost, name_, "the work has ended the transaction itself, so it was not under the lock to its end");
    }
    const result_ptr how = run(connection_, "COMMIT");
    open_ = false;
    if (!worked(how)) {
        const errc code = code_of(how.get(), connection_);
        fail(code, name_,
             text_of(how.get(), connection_) +
                 (code == errc::unreachable ? "; the transaction may have been committed, or not" : ""));
    }
    if (std::string_view{PQcmdStatus(how.get())} != "COMMIT")
        fail(errc::lost, name_, "a statement of the transaction had failed, so it was rolled back");
}

}  // namespace mortise::inline v0::sql
