#include "stores/postgres/servers/console.hpp"

#include <stdexcept>

#include <libpq-fe.h>

namespace mortise::inline v0::stores::postgres::servers {

struct console::session {
    PGconn* is;
    explicit session(const std::string& options) : is(PQconnectdb(options.c_str())) {}
    ~session() { PQfinish(is); }
};

console::console(const std::string& options)
    : session_(std::make_unique<session>(options + " connect_timeout=20 sslmode=disable gssencmode=disable")) {
    if (PQstatus(session_->is) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(session_->is));
    PQsetNoticeProcessor(
        session_->is, [](void*, const char*) {}, nullptr);
}
console::~console() = default;
console::console(console&&) noexcept = default;

std::vector<std::string> console::column(const std::string& statement) {
    const std::unique_ptr<PGresult, void (*)(PGresult*)> got{PQexec(session_->is, statement.c_str()), PQclear};
    const ExecStatusType status = PQresultStatus(got.get());
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
        throw std::runtime_error(statement + ": " + PQerrorMessage(session_->is));
    std::vector<std::string> all;
    for (int row = 0; row < PQntuples(got.get()); ++row) all.emplace_back(PQgetvalue(got.get(), row, 0));
    return all;
}

std::string console::ask(const std::string& statement) {
    const auto all = column(statement);
    return all.empty() ? std::string{} : all.front();
}

}  // namespace mortise::inline v0::stores::postgres::servers
