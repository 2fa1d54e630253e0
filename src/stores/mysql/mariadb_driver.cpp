#include "stores/mysql/mariadb_driver.hpp"

#include "base/text.hpp"
#include "net/library_tls.hpp"
#include "stores/mysql/errors.hpp"
#include "stores/mysql/mariadb_values.hpp"
#include "stores/mysql/silent_server.hpp"
#include "stores/sql/strangers.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

#include <errno.h>
#include <mariadb/mysql.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

namespace mortise::inline v0::stores::mysql {
namespace {

using sql::outcome;

// None that sends the password as it is.
constexpr const char* safe_authentication =
    "mysql_native_password,client_ed25519,parsec,caching_sha2_password,sha256_password";

// So that a server that vanished is noticed by a connection that only waits.
void notice_silence(int socket) {
    const auto set = [socket](int level, int option, int value) {
        ::setsockopt(socket, level, option, &value, sizeof value);
    };
    set(SOL_SOCKET, SO_KEEPALIVE, 1);
    set(IPPROTO_TCP, TCP_KEEPIDLE, 5);
    set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
    set(IPPROTO_TCP, TCP_KEEPCNT, 3);
    set(IPPROTO_TCP, TCP_USER_TIMEOUT, 20'000);
}

// Why its TLS cannot be relied on; empty: it can.
std::string objection_to_library(MYSQL* of) {
    const char* its = nullptr;
    mariadb_get_infov(of, MARIADB_TLS_LIBRARY, &its);
    if (its != nullptr && std::string_view{its}.starts_with(net::openssl_version())) return {};
    return "tls=on: libmariadb uses " + std::string(its == nullptr ? "no TLS" : its) +
           ", and what it verifies can only be relied on if it uses " + net::openssl_version() +
           ", as Mortise does; install such a build of it";
}

void use_tls(MYSQL* of, const settings& how) {
    const auto file = [of](mysql_option option, const std::string& name) {
        if (!name.empty()) mysql_optionsv(of, option, name.c_str());
    };
    file(MYSQL_OPT_SSL_CA, how.tls.ca);
    file(MYSQL_OPT_SSL_CERT, how.tls.certificate);
    file(MYSQL_OPT_SSL_KEY, how.tls.key);
    const my_bool yes = 1;
    const my_bool no = 0;
    mysql_optionsv(of, MYSQL_OPT_SSL_ENFORCE, &yes);
    // In the handshake the library blocks, for at most this.
    const auto most = static_cast<unsigned>(std::chrono::ceil<std::chrono::seconds>(how.timeout).count());
    mysql_optionsv(of, MYSQL_OPT_CONNECT_TIMEOUT, &most);
    // It would compare the certificate with the number that it connects to, if at all; net::library_tls does better.
    mysql_optionsv(of, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &no);
}

outcome failure_to_connect(MYSQL* to, const net::library_tls* used, const net::tls_settings& tls,
                           const std::string& where) {
    if (used != nullptr && !used->objection().empty())
        return {.is = outcome::kind::denied, .detail = where + ": " + used->objection(), .hopeless = true};
    if (used != nullptr && !used->alert().empty())
        return {
            .is = outcome::kind::denied,
            .detail = where + " " +
                      (tls.certificate.empty() ? "asks for a certificate of ours" : "does not accept our certificate") +
                      " (" + used->alert() + "); see the options cert and key",
            .hopeless = true};
    return connect_failure_of(mysql_errno(to), mysql_error(to), tls);
}

// Each call of the library that may wait is begun, continued while its socket is ready, and followed by what comes then.
class mariadb_driver final : public sql::driver {
public:
    mariadb_driver(const settings& how, std::chrono::seconds silence, std::shared_ptr<suspects> past)
        : how_(how), silent_(std::move(past)) {
        session_ = {
            "SET SESSION wait_timeout=" + std::to_string(silence.count()) +
                ", time_zone='+00:00', sql_mode='STRICT_ALL_TABLES', autocommit=1, innodb_lock_wait_timeout=50"
                " /*M!100100 , max_statement_time=0 */ /*M!100300 , idle_transaction_timeout=0 */",
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
            "SELECT CONNECTION_ID()",
        };
    }
    ~mariadb_driver() override;

    void open(const sql::server_address& to) override;
    state is() const override { return is_; }
    int descriptor() const override {
        const my_socket socket = mysql_ != nullptr ? mysql_get_socket(mysql_) : MARIADB_INVALID_SOCKET;
        return socket == MARIADB_INVALID_SOCKET ? -1 : socket;
    }
    interest wants() const override {
        if (awaits_greeting_) return {.read = true, .write = silent_.asks_at_once()};
        // A result may be there as soon as a statement was sent, and is to be taken: a socket is writable at once.
        const bool arrived = !results_.empty() || !told_.empty();
        if (goes_on_ == nullptr) return {.read = is_ == state::up, .write = arrived};
        return {.read = (waits_for_ & MYSQL_WAIT_READ) != 0, .write = arrived || (waits_for_ & MYSQL_WAIT_WRITE) != 0};
    }
    bool provoke() override { return awaits_greeting_ && silent_.ping(descriptor()); }
    void advance() override;
    bool ready() const override { return is_ == state::up && goes_on_ == nullptr; }
    void send(const sql::statement& what, std::span<const sql::value> bound) override;
    std::optional<sql::result> next_result() override;
    std::optional<sql::notification> next_notification() override;
    const outcome& trouble() const override { return trouble_; }

private:
    using call = int (*)(mariadb_driver&, int ready);
    using step = void (mariadb_driver::*)();

    void begin(int waits_for, call goes_on, step then);
    void go_on(int ready);
    void look_at_idle();
    void lose(outcome why);

    bool greeting_is_fine();
    void connected();
    void set_up();
    void was_set_up();
    void greeted();
    void prepared();
    void execute();
    void executed();
    void stored();
    void next_result_came();
    void pinged();
    void statement_failed();
    void finish();

    const settings how_;
    std::vector<std::string> session_;  // statements that set it up
    std::size_t session_done_ = 0;
    sql::server_address to_;
    std::unique_ptr<net::library_tls> tls_{};
    bool awaits_greeting_ = false;  // the server's first packet
    silent_server silent_;
    state is_ = state::connecting;
    outcome trouble_{};

    MYSQL* mysql_ = nullptr;
    int waits_for_ = 0;
    call goes_on_ = nullptr;  // none: nothing is under way
    step then_ = nullptr;
    MYSQL* made_ = nullptr;  // what the calls return
    int failed_ = 0;
    MYSQL_RES* rows_ = nullptr;

    std::unordered_map<const sql::statement*, MYSQL_STMT*> prepared_;
    const sql::statement* running_ = nullptr;
    MYSQL_STMT* statement_ = nullptr;
    std::optional<parameters> bound_;
    bool executing_ = false;  // a byte of it may have been sent
    bool first_ = true;       // of its results
    sql::result result_;
    std::deque<sql::result> results_;
    std::deque<sql::notification> told_;
};

mariadb_driver::~mariadb_driver() {
    if (mysql_ == nullptr) return;
    if (goes_on_ != nullptr) {
        // The library frees what the call has made when it is told that time is up.
        if (const int socket = descriptor(); socket >= 0) ::shutdown(socket, SHUT_RDWR);
        for (int tries = 0; tries < 16 && waits_for_ != 0; ++tries) waits_for_ = goes_on_(*this, MYSQL_WAIT_TIMEOUT);
    }
    if (rows_ != nullptr) mysql_free_result(rows_);
    mysql_close(mysql_);
    for (const auto& [text, known] : prepared_) mysql_stmt_close(known);  // they were cut off from it
}

void mariadb_driver::open(const sql::server_address& to) {
    static std::once_flag once;
    std::call_once(once, [] { mysql_library_init(0, nullptr, nullptr); });
    to_ = to;
    mysql_ = mysql_init(nullptr);
    if (mysql_ == nullptr) return lose({.is = outcome::kind::exhausted, .detail = "out of memory"});
    const unsigned none = 0;
    mysql_optionsv(mysql_, MYSQL_OPT_NONBLOCK, nullptr);
    mysql_optionsv(mysql_, MYSQL_OPT_LOCAL_INFILE, &none);  // else a server could ask for files of ours
    mysql_optionsv(mysql_, MYSQL_SET_CHARSET_NAME, "utf8mb4");
    mysql_optionsv(mysql_, MARIADB_OPT_RESTRICTED_AUTH, safe_authentication);
    if (how_.tls.on) {
        if (std::string why = objection_to_library(mysql_); !why.empty())
            return lose({.is = outcome::kind::refused, .detail = std::move(why), .hopeless = true});
        tls_ = net::verify_library(how_.tls, to_.where.host);
        use_tls(mysql_, how_);
    }
    awaits_greeting_ = true;
    silent_.open(to_.numeric + ' ' + std::to_string(to_.where.port));
    begin(
        mysql_real_connect_start(&made_, mysql_, to_.numeric.c_str(), how_.user.c_str(), how_.password.c_str(),
                                 how_.database.c_str(), to_.where.port, nullptr,
                                 CLIENT_FOUND_ROWS | CLIENT_MULTI_RESULTS),
        [](mariadb_driver& self, int ready) {
            const net::library_tls::scope verified{self.tls_.get()};
            return mysql_real_connect_cont(&self.made_, self.mysql_, ready);
        },
        &mariadb_driver::connected);
}

void mariadb_driver::begin(int waits_for, call goes_on, step then) {
    waits_for_ = waits_for;
    goes_on_ = goes_on;
    then_ = then;
    if (waits_for_ != 0) return;
    goes_on_ = nullptr;
    (this->*then_)();
}

void mariadb_driver::go_on(int ready) {
    waits_for_ = goes_on_(*this, ready);
    if (waits_for_ != 0) return;
    goes_on_ = nullptr;
    (this->*then_)();
}

void mariadb_driver::advance() {
    if (is_ == state::lost || mysql_ == nullptr) return;
    if (!results_.empty() || !told_.empty()) return;
    if (goes_on_ == nullptr) return look_at_idle();
    int ready = waits_for_ & (MYSQL_WAIT_READ | MYSQL_WAIT_WRITE);
    if (awaits_greeting_ && !greeting_is_fine()) return;
    if (is_ == state::connecting) {  // where it believes what it is told
        pollfd socket{descriptor(), 0, 0};
        if ((ready & MYSQL_WAIT_READ) != 0) socket.events |= POLLIN;
        if ((ready & MYSQL_WAIT_WRITE) != 0) socket.events |= POLLOUT;
        if (::poll(&socket, 1, 0) <= 0) return;
        if ((socket.revents & (POLLERR | POLLHUP)) == 0)
            ready = ((socket.revents & POLLIN) != 0 ? MYSQL_WAIT_READ : 0) |
                    ((socket.revents & POLLOUT) != 0 ? MYSQL_WAIT_WRITE : 0);
    }
    go_on(ready);
}

// A server that says something unasked is about to close, except for what TLS says.
void mariadb_driver::look_at_idle() {
    char byte = 0;
    const auto got = ::recv(descriptor(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got > 0 && how_.tls.on)
        return begin(
            mysql_ping_start(&failed_, mysql_),
            [](mariadb_driver& self, int ready) { return mysql_ping_cont(&self.failed_, self.mysql_, ready); },
            &mariadb_driver::pinged);
    lose({.is = outcome::kind::unsent, .detail = "the server ended the connection"});
}

void mariadb_driver::pinged() {
    if (failed_ != 0) lose(failure_of(mysql_errno(mysql_), mysql_error(mysql_)));
}

void mariadb_driver::lose(outcome why) {
    if (is_ == state::lost) return;
    is_ = state::lost;
    trouble_ = std::move(why);
    if (running_ == nullptr) return;
    running_ = nullptr;
    const auto kind = executing_ ? outcome::kind::unsure : outcome::kind::unsent;
    results_.push_back({.how = {.is = kind, .detail = trouble_.detail}});
}

// ---- connecting

// The library would send a password to a server that offers no TLS, and complain afterwards. So it gets to see the first packet,
// which comes unasked, only after we have: a length of three bytes, a number, the version of the protocol, that of the server
// with a zero behind it, 13 bytes of other things, and what the server can do, of which TLS is a bit.
bool mariadb_driver::greeting_is_fine() {
    constexpr unsigned char protocol = 10;
    constexpr unsigned char error_packet = 0xff;  // which the library reports
    constexpr std::size_t to_version = 5;
    constexpr std::size_t to_abilities = 13;
    pollfd socket{descriptor(), POLLIN, 0};
    if (silent_.asks_at_once()) socket.events |= POLLOUT;
    if (::poll(&socket, 1, 0) <= 0) return false;
    const bool failed = (socket.revents & POLLERR) != 0;
    if (!failed && (socket.revents & POLLOUT) != 0) silent_.ask_for_tls(descriptor());
    if (failed && !silent_.was_spoken_to()) {  // to ask why would take the reason away from the library
        awaits_greeting_ = false;
        return true;
    }
    std::array<unsigned char, 512> seen{};
    const auto got = ::recv(descriptor(), seen.data(), seen.size(), MSG_PEEK | MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return false;
    awaits_greeting_ = false;
    const std::string_view says{reinterpret_cast<const char*>(seen.data()),
                                static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
    if (silent_.ends_with(says)) {
        lose(silent_.trouble_with(to_.where.shown(), says));
        return false;
    }
    if (got <= static_cast<ssize_t>(to_version)) return true;  // it was closed, or the library reads the rest
    if (seen[to_version - 1] == error_packet) return true;
    if (seen[to_version - 1] != protocol) {
        lose({.is = outcome::kind::refused, .detail = sql::wrong_server(to_.where.shown(), says, "MySQL")});
        return false;
    }
    if (!how_.tls.on) return true;
    const auto end = seen.begin() + got;
    const auto zero = std::find(seen.begin() + to_version, end, 0);
    if (end - zero < static_cast<std::ptrdiff_t>(to_abilities + 3)) {
        awaits_greeting_ = got < static_cast<ssize_t>(seen.size());  // the rest is on its way
        if (awaits_greeting_) return false;
    } else if (((zero[to_abilities + 1] | zero[to_abilities + 2] << 8) & CLIENT_SSL) != 0) {
        return true;
    }
    lose({.is = outcome::kind::denied,
          .detail = to_.where.shown() + " does not speak TLS; " + how_.tls.if_plain,
          .hopeless = true});
    return false;
}

void mariadb_driver::connected() {
    if (made_ == nullptr) return lose(failure_to_connect(mysql_, tls_.get(), how_.tls, to_.where.shown()));
    if (tls_ && (!tls_->used() || mysql_get_ssl_cipher(mysql_) == nullptr))
        return lose({.is = outcome::kind::denied,
                     .detail = to_.where.shown() + ": the connection came up without TLS; " + how_.tls.if_plain,
                     .hopeless = true});
    notice_silence(descriptor());
    set_up();
}

void mariadb_driver::set_up() {
    if (session_done_ == session_.size()) {
        is_ = state::up;
        return;
    }
    const std::string& text = session_[session_done_];
    begin(
        mysql_real_query_start(&failed_, mysql_, text.data(), static_cast<unsigned long>(text.size())),
        [](mariadb_driver& self, int ready) { return mysql_real_query_cont(&self.failed_, self.mysql_, ready); },
        &mariadb_driver::was_set_up);
}

void mariadb_driver::was_set_up() {
    if (failed_ != 0) return lose(failure_to_connect(mysql_, tls_.get(), how_.tls, to_.where.shown()));
    ++session_done_;
    if (mysql_field_count(mysql_) == 0) return set_up();
    begin(
        mysql_store_result_start(&rows_, mysql_),
        [](mariadb_driver& self, int ready) { return mysql_store_result_cont(&self.rows_, self.mysql_, ready); },
        &mariadb_driver::greeted);
}

// Who answers statements is who greeted us, unless a proxy deals statements out to connections of its own.
void mariadb_driver::greeted() {
    MYSQL_RES* const rows = std::exchange(rows_, nullptr);
    if (rows == nullptr) return lose(failure_to_connect(mysql_, tls_.get(), how_.tls, to_.where.shown()));
    const MYSQL_ROW row = mysql_fetch_row(rows);
    const bool same = row != nullptr && row[0] != nullptr && std::to_string(mysql_thread_id(mysql_)) == row[0];
    mysql_free_result(rows);
    if (!same)
        return lose({.is = outcome::kind::refused,
                     .detail =
                         "a proxy is in the way that shares connections between clients, and locks would be lost; "
                         "connect to the server itself",
                     .hopeless = true});
    set_up();
}

// ---- statements

void mariadb_driver::send(const sql::statement& what, std::span<const sql::value> bound) {
    running_ = &what;
    bound_.emplace(bound);
    executing_ = false;
    first_ = true;
    result_ = {};
    const auto known = prepared_.find(&what);
    if (known != prepared_.end()) {
        statement_ = known->second;
        return execute();
    }
    statement_ = mysql_stmt_init(mysql_);
    if (statement_ == nullptr) {
        result_.how = {.is = outcome::kind::exhausted, .detail = "out of memory"};
        return finish();
    }
    prepared_.emplace(&what, statement_);
    const my_bool yes = 1;
    mysql_stmt_attr_set(statement_, STMT_ATTR_UPDATE_MAX_LENGTH, &yes);
    begin(
        mysql_stmt_prepare_start(&failed_, statement_, what.text.data(), static_cast<unsigned long>(what.text.size())),
        [](mariadb_driver& self, int ready) { return mysql_stmt_prepare_cont(&self.failed_, self.statement_, ready); },
        &mariadb_driver::prepared);
}

void mariadb_driver::prepared() {
    if (failed_ != 0) return statement_failed();
    execute();
}

void mariadb_driver::execute() {
    if (mysql_stmt_param_count(statement_) != bound_->size()) {
        result_.how = {.is = outcome::kind::refused, .detail = "a statement has another number of parameters"};
        return finish();
    }
    if (bound_->size() > 0) mysql_stmt_bind_param(statement_, bound_->all());
    executing_ = true;
    begin(
        mysql_stmt_execute_start(&failed_, statement_),
        [](mariadb_driver& self, int ready) { return mysql_stmt_execute_cont(&self.failed_, self.statement_, ready); },
        &mariadb_driver::executed);
}

void mariadb_driver::executed() {
    if (failed_ != 0) return statement_failed();
    if (mysql_stmt_field_count(statement_) > 0)
        return begin(
            mysql_stmt_store_result_start(&failed_, statement_),
            [](mariadb_driver& self, int ready) {
                return mysql_stmt_store_result_cont(&self.failed_, self.statement_, ready);
            },
            &mariadb_driver::stored);
    if (first_) {
        result_.affected = mysql_stmt_affected_rows(statement_);
        result_.inserted = mysql_stmt_insert_id(statement_);
    }
    stored();
}

void mariadb_driver::stored() {
    if (failed_ != 0) return statement_failed();
    const bool has_rows = mysql_stmt_field_count(statement_) > 0;
    if (has_rows && (running_->tells || first_)) {
        auto rows = rows_of(statement_);
        if (!rows) return lose({.is = outcome::kind::unsure, .detail = "the server's answer makes no sense"});
        if (running_->tells)
            for (const sql::values& row : *rows) told_.push_back({.payload = std::string(sql::bytes_in(row.front()))});
        else
            result_.rows = *std::move(rows);
    }
    first_ = first_ && running_->tells && has_rows;
    if (!mysql_stmt_more_results(statement_)) return finish();
    begin(
        mysql_stmt_next_result_start(&failed_, statement_),
        [](mariadb_driver& self, int ready) {
            return mysql_stmt_next_result_cont(&self.failed_, self.statement_, ready);
        },
        &mariadb_driver::next_result_came);
}

// Of a CALL: what follows its rows is how it ended.
void mariadb_driver::next_result_came() {
    if (failed_ > 0) return statement_failed();
    if (failed_ < 0) {
        failed_ = 0;
        return finish();
    }
    executed();
}

void mariadb_driver::statement_failed() {
    const unsigned number = mysql_stmt_errno(statement_);
    const outcome how = failure_of(number, mysql_stmt_error(statement_));
    if (ends_connection(number)) return lose(how);
    result_ = {.how = how};
    if (!executing_ || number == 1615 || number == 1243) {  // it has to be prepared anew
        prepared_.erase(running_);
        mysql_stmt_close(std::exchange(statement_, nullptr));
    }
    finish();
}

void mariadb_driver::finish() {
    if (statement_ != nullptr && mysql_stmt_field_count(statement_) > 0) mysql_stmt_free_result(statement_);
    running_ = nullptr;
    bound_.reset();
    results_.push_back(std::move(result_));
}

std::optional<sql::notification> mariadb_driver::next_notification() {
    if (told_.empty()) return std::nullopt;
    sql::notification next = std::move(told_.front());
    told_.pop_front();
    return next;
}

std::optional<sql::result> mariadb_driver::next_result() {
    if (results_.empty() || !told_.empty()) return std::nullopt;  // what a statement tells comes before its end
    sql::result next = std::move(results_.front());
    results_.pop_front();
    return next;
}

}  // namespace

std::unique_ptr<sql::driver> make_driver(const settings& how, std::chrono::seconds silence) {
    return make_drivers(how, silence)();
}

sql::driver_factory make_drivers(const settings& how, std::chrono::seconds silence) {
    return [how, silence, past = std::make_shared<suspects>()] {
        return std::make_unique<mariadb_driver>(how, silence, past);
    };
}

}  // namespace mortise::inline v0::stores::mysql
