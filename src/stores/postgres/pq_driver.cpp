#include "stores/postgres/pq_driver.hpp"

#include "base/descriptors.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "stores/postgres/failures.hpp"
#include "stores/sql/strangers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include <libpq-fe.h>
#include <sys/socket.h>

namespace mortise::inline v0::stores::postgres {
namespace {

using kind = sql::outcome::kind;

constexpr int oldest_server = 140000;  // idle_session_timeout and client_connection_check_interval
constexpr std::size_t most_in_flight = 256;

struct freed {
    void operator()(PGresult* one) const { PQclear(one); }
    void operator()(PGconn* one) const { PQfinish(one); }
    void operator()(PGnotify* one) const { PQfreemem(one); }
};
using result_ptr = std::unique_ptr<PGresult, freed>;

// Types of the server's that we read; all others are bytes.
enum : Oid { type_bool = 16, type_bigint = 20, type_smallint = 21, type_integer = 23, type_oid = 26, type_void = 2278 };

std::int64_t big_endian(const char* bytes, int length) {
    std::uint64_t n = length > 0 && (bytes[0] & 0x80) != 0 && length < 8 ? ~std::uint64_t{0} : 0;
    for (int i = 0; i < length; ++i) n = n << 8 | static_cast<unsigned char>(bytes[i]);
    return static_cast<std::int64_t>(n);
}

sql::value value_at(const PGresult* from, int row, int column) {
    if (PQgetisnull(from, row, column) != 0) return {};
    const char* const bytes = PQgetvalue(from, row, column);
    const int length = PQgetlength(from, row, column);
    switch (PQftype(from, column)) {
        case type_bool:
            return std::int64_t{bytes[0]};
        case type_oid:
            return big_endian(bytes, length) & 0xffffffff;
        case type_bigint:
        case type_integer:
        case type_smallint:
            return big_endian(bytes, length);
        case type_void:
            return {};
        default:
            return std::string(bytes, static_cast<std::size_t>(length));
    }
}

void read_rows(const PGresult* from, sql::result& into) {
    const int columns = PQnfields(from);
    into.rows.reserve(static_cast<std::size_t>(PQntuples(from)));
    for (int row = 0; row < PQntuples(from); ++row) {
        sql::values& next = into.rows.emplace_back();
        next.reserve(static_cast<std::size_t>(columns));
        for (int column = 0; column < columns; ++column) next.push_back(value_at(from, row, column));
    }
    if (columns > 0) return;
    const char* const changed = PQcmdTuples(const_cast<PGresult*>(from));
    into.affected = base::number_in<std::uint64_t>(changed, 0, UINT64_MAX).value_or(0);
}

sql::outcome failure_in(const PGresult* from) {
    const char* const state = PQresultErrorField(from, PG_DIAG_SQLSTATE);
    const char* const text = PQresultErrorField(from, PG_DIAG_MESSAGE_PRIMARY);
    return failure_of_statement(state != nullptr ? state : "", text != nullptr ? text : PQresultErrorMessage(from));
}

// Values as libpq takes them. Integers go as text, which fits every type of integer; bytes as they are. They point into the
// values, and allocate nothing.
class bound_values {
public:
    explicit bound_values(std::span<const sql::value> from) {
        for (const sql::value& one : from.first(std::min(from.size(), most))) {
            pointers_[count_] = nullptr;
            lengths_[count_] = formats_[count_] = 0;
            if (const auto* const number = std::get_if<std::int64_t>(&one)) {
                std::array<char, longest>& text = numbers_[count_];
                *std::to_chars(text.begin(), text.end() - 1, *number).ptr = 0;
                pointers_[count_] = text.data();
            } else if (const auto* const bytes = std::get_if<std::string>(&one)) {
                pointers_[count_] = bytes->data();
                lengths_[count_] = static_cast<int>(bytes->size());
                formats_[count_] = 1;
            }
            ++count_;
        }
    }
    int count() const { return static_cast<int>(count_); }
    const char* const* pointers() const { return pointers_.data(); }
    const int* lengths() const { return lengths_.data(); }
    const int* formats() const { return formats_.data(); }

private:
    static constexpr std::size_t most = 16;     // of any statement of ours; a server refuses one with too few
    static constexpr std::size_t longest = 24;  // of a number

    std::size_t count_ = 0;
    std::array<std::array<char, longest>, most> numbers_;
    std::array<const char*, most> pointers_;
    std::array<int, most> lengths_;
    std::array<int, most> formats_;
};

// How a session behaves, set when it begins; and what we must know of it. In one statement, so in one trip.
//
// The server looks every half second whether the client of a statement that blocks is still there. Dead peers are found by TCP
// no earlier than a silent session ends.
std::string session_statement(const settings& settings, const session_plan& plan) {
    const auto seconds = [](std::chrono::milliseconds span) {
        return std::to_string(std::max<std::int64_t>(1, span.count() / 1000));
    };
    const std::chrono::milliseconds silence = plan.ends_idle.count() > 0 ? plan.ends_idle : settings.session;
    const std::vector<std::pair<std::string, std::string>> all{
        {"statement_timeout", "0"},
        {"lock_timeout", "0"},
        {"idle_in_transaction_session_timeout", "0"},
        {"idle_session_timeout", std::to_string(plan.ends_idle.count())},
        {"client_connection_check_interval", "500"},
        {"tcp_keepalives_idle", seconds(silence / 2)},
        {"tcp_keepalives_interval", seconds(silence / 4)},
        {"tcp_keepalives_count", "3"},
        {"tcp_user_timeout", std::to_string((silence * 5 / 4).count())},
        {"default_transaction_isolation", "read committed"},
        {"search_path", quoted_identifier(settings.schema) + ", pg_temp"},
        {"jit", "off"},
        {"client_min_messages", "error"},
    };
    const auto literal = [](const std::string& text) {
        std::string quoted = "E'";
        for (const char c : text) {
            if (c == '\'' || c == '\\') quoted += c;
            quoted += c;
        }
        return quoted + "'";
    };
    std::string text = "SELECT pg_backend_pid(), current_setting('transaction_read_only')::bool, pg_is_in_recovery()";
    for (const auto& [name, value] : all) text += ", set_config('" + name + "', " + literal(value) + ", false)";
    return text;
}

class pq_driver final : public sql::driver {
public:
    pq_driver(const settings& settings, session_plan plan) : settings_(settings), plan_(std::move(plan)) {}
    ~pq_driver() override {
        // In the child of a fork the session is the parent's: a farewell would end it.
        if (base::fork_generation() != made_in_) static_cast<void>(connection_.release());
    }

    void open(const sql::server_address& to) override;
    state is() const override { return is_; }
    int descriptor() const override { return connection_ ? PQsocket(connection_.get()) : -1; }
    interest wants() const override { return wants_; }
    void advance() override;
    bool ready() const override { return is_ == state::up && in_flight_.size() < most_in_flight; }
    void send(const sql::statement& what, std::span<const sql::value> bound) override;
    std::optional<sql::result> next_result() override;
    std::optional<sql::notification> next_notification() override;
    const sql::outcome& trouble() const override { return trouble_; }

private:
    // Of a statement that was sent.
    struct pending {
        const sql::statement* what;
        bool preparing = false;  // the first result is that of its preparation
        sql::result so_far{};
        bool failed = false;
    };
    enum class stage { connecting, asking, piped };

    bool is_another_server();
    void go_on_connecting();
    void ask_for_session();
    void read_session();
    void flush();
    void take_results();
    void take_one(const PGresult* one);
    void take_notifications();
    void lose(sql::outcome why);
    void lose();
    static void noticed(void* self, const PGresult* what);

    const settings settings_;
    const session_plan plan_;
    const std::uint64_t made_in_ = base::fork_generation();
    std::string where_;
    std::unique_ptr<PGconn, freed> connection_;
    state is_ = state::connecting;
    stage stage_ = stage::connecting;
    bool heard_ = false;  // the server's first bytes
    interest wants_{};
    sql::outcome trouble_{};
    std::string farewell_;  // why the server ended the session, if it said so

    std::unordered_map<const sql::statement*, std::string> prepared_;
    std::unordered_map<const sql::statement*, sql::outcome> unprepared_;  // and why
    std::size_t names_ = 0;
    std::deque<pending> in_flight_;
    std::deque<sql::result> results_;
    std::deque<sql::notification> notifications_;
};

void pq_driver::open(const sql::server_address& to) {
    where_ = to.where.shown();
    const bool verified = settings_.tls == settings::encryption::verified;
    const std::string port = std::to_string(to.where.port);
    const std::string& host = verified && !settings_.server_name.empty() ? settings_.server_name : to.where.host;
    std::vector<std::pair<const char*, std::string>> options{
        {"host", host},
        {"hostaddr", to.numeric},
        {"port", port},
        {"user", settings_.user},
        {"dbname", settings_.database},
        {"application_name", plan_.called},
        {"client_encoding", "UTF8"},
        {"target_session_attrs", "any"},  // we look ourselves, and say what is wrong
        {"gssencmode", "disable"},
        {"sslmode", verified                                     ? "verify-full"
                    : settings_.tls == settings::encryption::off ? "disable"
                                                                 : "prefer"},
        {"keepalives_idle", "15"},
        {"keepalives_interval", "5"},
        {"keepalives_count", "3"},
    };
    if (!settings_.password.empty()) options.emplace_back("password", settings_.password);
    if (verified) {
        options.emplace_back("sslrootcert", settings_.ca);
        options.emplace_back("ssl_min_protocol_version", "TLSv1.2");
        if (!settings_.certificate.empty()) {
            options.emplace_back("sslcert", settings_.certificate);
            options.emplace_back("sslkey", settings_.key);
        }
    }
    std::vector<const char*> keys;
    std::vector<const char*> texts;
    for (const auto& [key, text] : options) {
        keys.push_back(key);
        texts.push_back(text.c_str());
    }
    keys.push_back(nullptr);
    texts.push_back(nullptr);
    {
        const base::standard_descriptors_taken out_of_the_way;
        connection_.reset(PQconnectStartParams(keys.data(), texts.data(), 0));
    }
    if (!connection_) return lose({.is = kind::unsent, .detail = "out of memory"});
    PQsetErrorVerbosity(connection_.get(), PQERRORS_VERBOSE);
    PQsetNoticeReceiver(connection_.get(), &pq_driver::noticed, this);
    if (PQstatus(connection_.get()) == CONNECTION_BAD)
        return lose(failure_to_connect(where_, PQerrorMessage(connection_.get())));
    wants_ = {.write = true};
}

// The server says in a notice why it ends a session that has no statement.
void pq_driver::noticed(void* self, const PGresult* what) {
    const char* const severity = PQresultErrorField(what, PG_DIAG_SEVERITY_NONLOCALIZED);
    if (severity == nullptr || (std::strcmp(severity, "FATAL") != 0 && std::strcmp(severity, "PANIC") != 0)) return;
    static_cast<pq_driver*>(self)->farewell_ = failure_in(what).detail;
}

void pq_driver::advance() {
    if (is_ == state::lost || !connection_) return;
    if (stage_ == stage::connecting) return go_on_connecting();
    flush();
    if (is_ == state::lost) return;
    const bool alive = PQconsumeInput(connection_.get()) == 1;
    if (stage_ == stage::asking) {
        if (!alive) return lose(failure_to_connect(where_, PQerrorMessage(connection_.get())));
        return read_session();
    }
    take_results();
    take_notifications();
    if (is_ != state::lost && (!alive || PQstatus(connection_.get()) == CONNECTION_BAD)) lose();
}

// A server that speaks before it was asked, or does not answer as PostgreSQL does: libpq would try it again and again.
bool pq_driver::is_another_server() {
    std::array<char, 64> seen{};
    const auto got = ::recv(descriptor(), seen.data(), seen.size(), MSG_PEEK | MSG_DONTWAIT);
    if (got <= 0) return false;
    heard_ = true;
    const std::string_view says{seen.data(), static_cast<std::size_t>(got)};
    if (sql::server_that_says(says).empty()) return false;
    lose({.is = kind::refused, .detail = sql::wrong_server(where_, says, "PostgreSQL")});
    return true;
}

void pq_driver::go_on_connecting() {
    if (!heard_ && is_another_server()) return;
    const base::standard_descriptors_taken out_of_the_way;
    switch (PQconnectPoll(connection_.get())) {
        case PGRES_POLLING_READING:
            wants_ = {.read = true};
            return;
        case PGRES_POLLING_WRITING:
            wants_ = {.write = true};
            return;
        case PGRES_POLLING_OK:
            return ask_for_session();
        default:
            return lose(failure_to_connect(where_, PQerrorMessage(connection_.get())));
    }
}

void pq_driver::ask_for_session() {
    PGconn* const to = connection_.get();
    stage_ = stage::asking;
    if (PQserverVersion(to) < oldest_server)
        return lose({.is = kind::refused,
                     .detail = where_ + " is PostgreSQL " + std::to_string(PQserverVersion(to) / 10000) +
                               "; 14 or newer is needed",
                     .hopeless = true});
    const std::string text = session_statement(settings_, plan_);
    if (PQsetnonblocking(to, 1) != 0 ||
        PQsendQueryParams(to, text.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 1) != 1)
        return lose(failure_to_connect(where_, PQerrorMessage(to)));
    wants_ = {.read = true};
    flush();
}

void pq_driver::read_session() {
    PGconn* const from = connection_.get();
    sql::result told;
    bool answered = false;
    while (PQisBusy(from) == 0) {
        const result_ptr one{PQgetResult(from)};
        if (!one) {
            if (!answered) return lose(failure_to_connect(where_, PQerrorMessage(from)));
            break;
        }
        if (PQresultStatus(one.get()) != PGRES_TUPLES_OK) {
            sql::outcome how = failure_in(one.get());
            how.detail = where_ + " does not take the settings of our session: " + how.detail;
            how.hopeless = how.is != kind::unsure;
            if (how.is == kind::unsure) how.is = kind::unsent;
            return lose(std::move(how));
        }
        read_rows(one.get(), told);
        answered = true;
    }
    if (!answered) return;
    const sql::values row = told.rows.empty() ? sql::values{} : told.rows.front();
    const auto truth = [&](std::size_t column) { return sql::number_in(sql::value_at(row, column)) != 0; };
    if (row.size() < 3)
        return lose({.is = kind::refused,
                     .detail = where_ + " does not answer as PostgreSQL does; is the port right?",
                     .hopeless = true});
    if (sql::number_in(row[0]) != PQbackendPID(from) && !settings_.pooled_sessions)
        return lose(
            {.is = kind::refused,
             .detail = where_ +
                       " is a pooler, like PgBouncer: locks need a session of their own to the server. Name the "
                       "server itself, or write pooler=session if it pools sessions, not transactions",
             .hopeless = true});
    if (truth(2))
        return lose(
            {.is = kind::read_only, .detail = where_ + " is a replica, which takes no changes; name the primary"});
    if (truth(1))
        return lose({.is = kind::read_only,
                     .detail = where_ + " is read-only for " + base::quoted(settings_.user) +
                               " (default_transaction_read_only)"});
    if (PQenterPipelineMode(from) != 1) return lose(failure_to_connect(where_, PQerrorMessage(from)));
    stage_ = stage::piped;
    is_ = state::up;
    flush();
}

void pq_driver::flush() {
    const int left = PQflush(connection_.get());
    wants_ = {.read = true, .write = left == 1};
    if (left < 0 && stage_ == stage::piped) {
        // The server may have said why before it closed.
        static_cast<void>(PQconsumeInput(connection_.get()));
        take_results();
        lose();
    }
}

void pq_driver::send(const sql::statement& what, std::span<const sql::value> bound) {
    PGconn* const to = connection_.get();
    pending& sending = in_flight_.emplace_back(pending{&what});
    if (is_ != state::up) return;
    const bound_values values{bound};
    auto name = prepared_.find(&what);
    bool sent = true;
    if (name == prepared_.end()) {
        name = prepared_.emplace(&what, "m" + std::to_string(names_++)).first;
        sending.preparing = true;
        sent = PQsendPrepare(to, name->second.c_str(), what.text.c_str(), 0, nullptr) == 1;
    }
    sent = sent && PQsendQueryPrepared(to, name->second.c_str(), values.count(), values.pointers(), values.lengths(),
                                       values.formats(), 1) == 1;
    sent = sent && PQpipelineSync(to) == 1;
    if (!sent) return lose();
    flush();
}

// Between the results of two statements libpq returns none, once or a few times. What a server that is none begins unasked could make
// it return none, or the same result, for ever.
constexpr int most_in_a_row = 1000;

void pq_driver::take_results() {
    for (int none = 0; none < most_in_a_row && !in_flight_.empty() && PQisBusy(connection_.get()) == 0;) {
        const result_ptr one{PQgetResult(connection_.get())};
        none = one ? 0 : none + 1;
        const auto status = one ? PQresultStatus(one.get()) : PGRES_EMPTY_QUERY;
        if (status == PGRES_COPY_OUT || status == PGRES_COPY_IN || status == PGRES_COPY_BOTH) {
            farewell_ = "it begins a COPY that nobody asked for";
            return lose();
        }
        if (one) take_one(one.get());
        if (PQstatus(connection_.get()) == CONNECTION_BAD) return;
    }
}

void pq_driver::take_one(const PGresult* one) {
    pending& now = in_flight_.front();
    switch (PQresultStatus(one)) {
        case PGRES_PIPELINE_SYNC:
            if (!now.failed) now.so_far.how = {};
            results_.push_back(std::move(now.so_far));
            in_flight_.pop_front();
            return;
        case PGRES_TUPLES_OK:
        case PGRES_COMMAND_OK:
            if (std::exchange(now.preparing, false))
                unprepared_.erase(now.what);
            else if (!now.failed)
                read_rows(one, now.so_far);
            return;
        case PGRES_PIPELINE_ABORTED:
            return;
        default:
            break;
    }
    if (now.failed) return;
    now.failed = true;
    now.so_far.rows.clear();
    now.so_far.how = failure_in(one);
    const char* const code = PQresultErrorField(one, PG_DIAG_SQLSTATE);
    if (code != nullptr && std::string_view{code} == "26000") {  // it does not know the prepared statement
        if (const auto why = unprepared_.find(now.what); why != unprepared_.end())
            now.so_far.how = why->second;
        else
            now.so_far.how.detail +=
                ": a pooler hands the session to others, or somebody discards what it has prepared";
    } else if (std::exchange(now.preparing, false)) {
        prepared_.erase(now.what);
        unprepared_[now.what] = now.so_far.how;
    }
    if (now.so_far.how.is == kind::unsure) farewell_ = now.so_far.how.detail;
}

void pq_driver::take_notifications() {
    while (const std::unique_ptr<PGnotify, freed> one{PQnotifies(connection_.get())})
        notifications_.push_back({one->relname, one->extra});
}

void pq_driver::lose() {
    std::string why = farewell_;
    if (why.empty()) why = first_line(PQerrorMessage(connection_.get()));
    if (why.empty()) why = "the connection was closed";
    lose({.is = kind::unsent, .detail = where_ + ": " + why});
}

void pq_driver::lose(sql::outcome why) {
    if (is_ == state::lost) return;
    is_ = state::lost;
    wants_ = {};
    trouble_ = std::move(why);
}

std::optional<sql::result> pq_driver::next_result() {
    if (!results_.empty()) {
        sql::result next = std::move(results_.front());
        results_.pop_front();
        return next;
    }
    if (is_ != state::lost || in_flight_.empty()) return std::nullopt;
    sql::result unanswered{.how = {.is = kind::unsure, .detail = trouble_.detail}};
    in_flight_.pop_front();
    return unanswered;
}

std::optional<sql::notification> pq_driver::next_notification() {
    if (notifications_.empty()) return std::nullopt;
    sql::notification next = std::move(notifications_.front());
    notifications_.pop_front();
    return next;
}

}  // namespace

std::string quoted_identifier(std::string_view name) {
    std::string quoted = "\"";
    for (const char c : name) {
        if (c == '"') quoted += c;
        quoted += c;
    }
    return quoted + '"';
}

std::unique_ptr<sql::driver> make_driver(const settings& settings, const session_plan& plan) {
    return std::make_unique<pq_driver>(settings, plan);
}

}  // namespace mortise::inline v0::stores::postgres
