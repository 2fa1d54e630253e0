#include "stores/postgres/servers/console.hpp"

#include <chrono>
#include <stdexcept>

#include <libpq-fe.h>
#include <poll.h>

namespace mortise::inline v0::stores::postgres::servers {

struct console::session {
    PGconn* is;

    // libpq's own timeout is by the wall clock, and some tests bend that.
    explicit session(const std::string& options) : is(PQconnectStart(options.c_str())) {
        const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds{20};
        auto wants = PGRES_POLLING_WRITING;
        while (wants != PGRES_POLLING_OK && wants != PGRES_POLLING_FAILED && PQstatus(is) != CONNECTION_BAD) {
            pollfd socket{PQsocket(is), static_cast<short>(wants == PGRES_POLLING_READING ? POLLIN : POLLOUT), 0};
            const auto left = std::chrono::ceil<std::chrono::milliseconds>(give_up - std::chrono::steady_clock::now());
            if (left.count() <= 0 || ::poll(&socket, 1, static_cast<int>(left.count())) == 0) return;
            wants = PQconnectPoll(is);
        }
    }
    ~session() { PQfinish(is); }
};

console::console(const std::string& options)
    : session_(std::make_unique<session>(options + " sslmode=disable gssencmode=disable")) {
    if (PQstatus(session_->is) != CONNECTION_OK)
        throw std::runtime_error("no connection: " + std::string(PQerrorMessage(session_->is)));
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
