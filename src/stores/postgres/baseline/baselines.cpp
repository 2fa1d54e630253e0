#include "stores/postgres/baseline/baselines.hpp"

#include "base/text.hpp"
#include "stores/postgres/advisory_statements.hpp"
#include "stores/postgres/lock_key.hpp"
#include "stores/postgres/pq_driver.hpp"
#include "stores/postgres/row_dialect.hpp"
#include "stores/postgres/settings.hpp"
#include "stores/sql/row_line.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/error.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <libpq-fe.h>
#include <poll.h>

namespace mortise::inline v0::stores::postgres {
namespace {

// The blocking calls of libpq, on a session of its own.
class blocking_session {
public:
    explicit blocking_session(const settings& config) {
        std::string hosts;
        std::string ports;
        for (const net::endpoint& one : config.servers) {
            hosts += (hosts.empty() ? "" : ",") + one.host;
            ports += (ports.empty() ? "" : ",") + std::to_string(one.port);
        }
        const bool verified = config.tls == settings::encryption::verified;
        const char* const mode = verified                                  ? "verify-full"
                                 : config.tls == settings::encryption::off ? "disable"
                                                                           : "prefer";
        const std::string path = quoted_identifier(config.schema);
        const char* const keys[] = {
            "host",        "port",    "user",   "dbname",     "password",        "sslmode",
            "sslrootcert", "sslcert", "sslkey", "gssencmode", "connect_timeout", "target_session_attrs",
            nullptr};
        const char* const texts[] = {hosts.c_str(),
                                     ports.c_str(),
                                     config.user.c_str(),
                                     config.database.c_str(),
                                     config.password.empty() ? nullptr : config.password.c_str(),
                                     mode,
                                     verified ? config.ca.c_str() : nullptr,
                                     config.certificate.empty() ? nullptr : config.certificate.c_str(),
                                     config.key.empty() ? nullptr : config.key.c_str(),
                                     "disable",
                                     "10",
                                     "read-write",
                                     nullptr};
        connection_.reset(PQconnectdbParams(keys, texts, 0));
        if (!connection_ || PQstatus(connection_.get()) != CONNECTION_OK)
            throw error(errc::unreachable, config.shown() + ": " + PQerrorMessage(connection_.get()));
        PQsetNoticeProcessor(
            connection_.get(), [](void*, const char*) {}, nullptr);
        // Others may be making the same at the same time.
        for (int tries = 0; tries < 5; ++tries) {
            try_to("CREATE SCHEMA IF NOT EXISTS " + path);
            try_to("SET search_path = " + path + ", pg_temp");
            if (try_to("CREATE SEQUENCE IF NOT EXISTS mortise_tokens AS bigint MAXVALUE 18014398509481983") &&
                try_to("CREATE TABLE IF NOT EXISTS mortise_baseline (place text PRIMARY KEY, turn int, gone bool)"))
                return;
        }
    }

    bool try_to(const std::string& statement) {
        const result_ptr got{PQexec(connection_.get(), statement.c_str()), PQclear};
        return PQresultStatus(got.get()) == PGRES_COMMAND_OK;
    }
    void prepare(const char* name, const char* text) {
        const result_ptr got{PQprepare(connection_.get(), name, text, 0, nullptr), PQclear};
        check(got.get());
    }
    // The first value of the first row.
    std::string run(const char* prepared, const std::vector<std::string>& values) {
        std::vector<const char*> pointers;
        for (const std::string& one : values) pointers.push_back(one.c_str());
        const result_ptr got{PQexecPrepared(connection_.get(), prepared, static_cast<int>(pointers.size()),
                                            pointers.data(), nullptr, nullptr, 0),
                             PQclear};
        check(got.get());
        return PQntuples(got.get()) > 0 && PQnfields(got.get()) > 0 ? PQgetvalue(got.get(), 0, 0) : "";
    }
    // The same with values that may be bytes (format 1) or NULL.
    std::string run_with_bytes(const char* prepared, const std::vector<std::optional<std::string>>& values,
                               const std::vector<int>& formats) {
        std::vector<const char*> pointers;
        std::vector<int> lengths;
        for (const auto& one : values) {
            pointers.push_back(one ? one->data() : nullptr);
            lengths.push_back(one ? static_cast<int>(one->size()) : 0);
        }
        const result_ptr got{PQexecPrepared(connection_.get(), prepared, static_cast<int>(pointers.size()),
                                            pointers.data(), lengths.data(), formats.data(), 0),
                             PQclear};
        check(got.get());
        return PQntuples(got.get()) > 0 ? PQgetvalue(got.get(), 0, 0) : "";
    }
    std::string ask(const std::string& statement, const std::vector<std::string>& values) {
        prepare("", statement.c_str());
        return run("", values);
    }
    // What the next notification says.
    std::string hear() {
        while (true) {
            const std::unique_ptr<PGnotify, void (*)(void*)> heard{PQnotifies(connection_.get()), PQfreemem};
            if (heard) return heard->extra;
            pollfd source{PQsocket(connection_.get()), POLLIN, 0};
            ::poll(&source, 1, -1);
            if (PQconsumeInput(connection_.get()) == 0)
                throw error(errc::unreachable, PQerrorMessage(connection_.get()));
        }
    }

private:
    using result_ptr = std::unique_ptr<PGresult, void (*)(PGresult*)>;
    void check(const PGresult* got) {
        const ExecStatusType status = PQresultStatus(got);
        if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
            throw error(errc::unreachable, PQerrorMessage(connection_.get()));
    }
    std::unique_ptr<PGconn, void (*)(PGconn*)> connection_{nullptr, PQfinish};
};

// The server's own lock, and a token.
class advisory_end final : public baseline_end {
public:
    advisory_end(const settings& config, const std::string& place)
        : key_{std::to_string(lock_key(config.schema + "-baseline", place))}, session_(config) {
        key_and_session_ = {key_.front(), session_.ask("SELECT pg_backend_pid()", {})};
        session_.prepare("lock", wait_statement.text.c_str());
        session_.prepare("unlock", unlock_statement.text.c_str());
    }
    void lock() override { session_.run("lock", key_); }
    void unlock() override { session_.run("unlock", key_and_session_); }

private:
    const std::vector<std::string> key_;
    std::vector<std::string> key_and_session_;
    blocking_session session_;
};

// The statements of strategy=row, and the server's notifications for those who wait.
class row_end final : public baseline_end {
public:
    row_end(const settings& config, const std::string& place)
        : says_(row_dialect_in(config.schema)),
          name_("baseline " + place),
          number_(std::to_string(claim_id::random().bits[0] >> 2 | 1)),
          session_(config) {
        session_.ask(says_.greeting.at(0).text, {number_});
        session_.ask(says_.greeting.at(1).text, {number_});
        char hex[17];
        std::snprintf(hex, sizeof hex, "%llx", std::stoull(number_));
        session_.try_to(says_.listen + hex);
        try {
            session_.prepare("enter", says_.enter.text.c_str());
        } catch (const error&) {
            for (const sql::statement& one : says_.schema) session_.try_to(one.text);
            session_.prepare("enter", says_.enter.text.c_str());
        }
        session_.prepare("leave", says_.leave.text.c_str());
    }
    void lock() override {
        id_ = sql::bytes_of(claim_id::random());
        const std::string first = session_.run_with_bytes("enter",
                                                          {name_, id_, number_, "1", "1", std::nullopt, "0", "30000000",
                                                           "30000000", "30000000", "bench", "0", "", "8"},
                                                          {1, 1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0});
        const bool waits = first == "0";  // the floor of its line comes first
        while (waits && session_.hear().front() != 'g') {
        }
    }
    void unlock() override {
        session_.run_with_bytes("leave", {name_, id_ + std::string(8, '\0'), number_}, {1, 1, 0});
    }

private:
    const sql::row_dialect says_;
    const std::string name_;
    const std::string number_;
    std::string id_;
    blocking_session session_;
};

// A statement that the server answers at once.
class trip_end final : public baseline_end {
public:
    explicit trip_end(const settings& config) : session_(config) { session_.prepare("trip", "SELECT 1"); }
    void lock() override { session_.run("trip", {}); }
    void unlock() override { session_.run("trip", {}); }

private:
    blocking_session session_;
};

// A change that is on disk when it is answered, as far as the server is set up for that.
class commit_end final : public baseline_end {
public:
    commit_end(const settings& config, const std::string& place) : place_{place}, session_(config) {
        session_.ask("INSERT INTO mortise_baseline VALUES ($1, 0, false) ON CONFLICT DO NOTHING", place_);
        session_.prepare("commit", "UPDATE mortise_baseline SET turn = turn + 1 WHERE place = $1");
    }
    void lock() override { session_.run("commit", place_); }
    void unlock() override {}

private:
    const std::vector<std::string> place_;
    blocking_session session_;
};

// NOTIFY to the other side. Turns are numbered: those of side 0 are even. A row has the number for a side that comes late.
class notify_end final : public baseline_end {
public:
    notify_end(const settings& config, const std::string& place, unsigned side)
        : place_(place),
          mine_(channel(config, place, side)),
          others_(channel(config, place, 1 - side)),
          side_(side),
          session_(config) {
        session_.try_to("LISTEN " + quoted_identifier(mine_));
        session_.ask("INSERT INTO mortise_baseline VALUES ($1, 0, false) ON CONFLICT DO NOTHING", {place_});
        session_.prepare("notify", "SELECT pg_notify($1, $2)");
    }
    ~notify_end() override {
        try {
            session_.ask("UPDATE mortise_baseline SET gone = true WHERE place = $1", {place_});
            session_.run("notify", {others_, "-1"});
        } catch (const std::exception&) {  // clear() removes the rest
        }
    }

    void lock() override {
        if (!met_)
            note(session_.ask("SELECT CASE WHEN gone THEN -1 ELSE turn END FROM mortise_baseline WHERE place = $1",
                              {place_}));
        while (!alone_ && turn_ % 2 != side_) {
            note(session_.hear());
            met_ = true;
        }
    }
    void unlock() override {
        if (alone_) return;
        const std::string next = std::to_string(++turn_);
        if (!met_) session_.ask("UPDATE mortise_baseline SET turn = $2::int WHERE place = $1", {place_, next});
        session_.run("notify", {others_, next});
    }

    static void clear(const settings& config, const std::string& place) {
        blocking_session{config}.ask("DELETE FROM mortise_baseline WHERE place = $1", {place});
    }

private:
    static std::string channel(const settings& config, const std::string& place, unsigned side) {
        return "mortise_" + std::to_string(lock_key(config.schema, place)) + "_" + std::to_string(side);
    }

    void note(const std::string& said) {
        const long told = std::stol(said);
        alone_ = alone_ || told < 0;
        turn_ = std::max(turn_, told);
    }

    const std::string place_;
    const std::string mine_;
    const std::string others_;
    const long side_;
    blocking_session session_;
    long turn_ = 0;
    bool met_ = false;  // the other side listens
    bool alone_ = false;
};

template <class End>
auto opened(const settings& config) {
    return [config](const std::string& place, unsigned side) -> std::unique_ptr<baseline_end> {
        check_baseline_place(place);
        if constexpr (std::is_same_v<End, notify_end>)
            return std::make_unique<End>(config, place, side);
        else if constexpr (std::is_same_v<End, advisory_end> || std::is_same_v<End, row_end> ||
                           std::is_same_v<End, commit_end>)
            return std::make_unique<End>(config, place);
        else
            return std::make_unique<End>(config);
    };
}

}  // namespace

baselines make_baselines(const base::url& address) {
    const settings config = settings::of(address);
    const auto nothing = [](const std::string&) {};
    const auto clear_row = [config](const std::string& place) {
        try {
            notify_end::clear(config, place);
        } catch (const std::exception&) {  // it can be removed by hand
        }
    };
    baselines found;
    // The same statements, from a bare client.
    if (config.kind == settings::strategy::row)
        found.all.push_back({"enter and leave alone", baseline::kind::lock, opened<row_end>(config), nothing});
    else
        found.all.push_back(
            {"pg_advisory_lock and nextval", baseline::kind::lock, opened<advisory_end>(config), nothing});
    found.all.push_back({"SELECT 1", baseline::kind::trip, opened<trip_end>(config), nothing});
    if (config.kind == settings::strategy::row)
        found.all.push_back({"a commit", baseline::kind::commit, opened<commit_end>(config), clear_row});
    found.all.push_back({"NOTIFY ping-pong", baseline::kind::ping_pong, opened<notify_end>(config), clear_row});
    found.usage = [config] {
        const std::string count = blocking_session{config}.ask(
            "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = current_database()", {});
        return store_usage{.commands = base::number_in<std::uint64_t>(count, 0, UINT64_MAX)};
    };
    return found;
}

}  // namespace mortise::inline v0::stores::postgres
