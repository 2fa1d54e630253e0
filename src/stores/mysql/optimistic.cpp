// mortise/sql/optimistic.hpp: a library of its own, so that no other part of Mortise shows libmariadb to its users.
#include <mortise/error.hpp>
#include <mortise/sql/optimistic.hpp>

#include <algorithm>
#include <cctype>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <mariadb/mysql.h>

namespace mortise::inline v0::sql {
namespace {

// What is run on the caller's connection, with the name as its first parameter and numbers after it.
class statement {
public:
    statement(MYSQL* on, const std::string& name, const std::string& text, std::vector<std::int64_t> numbers = {})
        : name_(name), made_(mysql_stmt_init(on), &mysql_stmt_close) {
        if (!made_) throw error(errc::exhausted, "out of memory");
        std::vector<MYSQL_BIND> binds(numbers.size() + 1);
        binds[0].buffer_type = MYSQL_TYPE_BLOB;
        binds[0].buffer = name_.data();
        binds[0].buffer_length = static_cast<unsigned long>(name_.size());
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            binds[i + 1].buffer_type = MYSQL_TYPE_LONGLONG;
            binds[i + 1].buffer = &numbers[i];
        }
        failed_ = mysql_stmt_prepare(made_.get(), text.data(), static_cast<unsigned long>(text.size())) != 0 ||
                  mysql_stmt_bind_param(made_.get(), binds.data()) != 0 || mysql_stmt_execute(made_.get()) != 0;
    }
    bool failed() const { return failed_; }
    unsigned number() const { return mysql_stmt_errno(made_.get()); }
    std::uint64_t affected() const { return mysql_stmt_affected_rows(made_.get()); }

    // The two numbers of the first row, if there is one.
    std::optional<std::pair<std::int64_t, std::int64_t>> row() const {
        std::int64_t numbers[2] = {};
        MYSQL_BIND binds[2] = {};
        for (int i = 0; i < 2; ++i) {
            binds[i].buffer_type = MYSQL_TYPE_LONGLONG;
            binds[i].buffer = &numbers[i];
        }
        mysql_stmt_bind_result(made_.get(), binds);
        mysql_stmt_store_result(made_.get());
        const bool there = mysql_stmt_fetch(made_.get()) == 0;
        mysql_stmt_free_result(made_.get());
        return there ? std::optional{std::pair{numbers[0], numbers[1]}} : std::nullopt;
    }

    [[noreturn]] void fail() const {
        const unsigned why = number();
        const bool gone = why >= 2000 && why < 3000;
        const bool denied = why == 1044 || why == 1142 || why == 1143;
        throw error(
            gone     ? errc::unreachable
            : denied ? errc::denied
                     : errc::unsupported,
            "version of '" + name_ + "': " + mysql_stmt_error(made_.get()) + " (error " + std::to_string(why) + ")");
    }

private:
    std::string name_;
    std::unique_ptr<MYSQL_STMT, my_bool (*)(MYSQL_STMT*)> made_;
    bool failed_ = false;
};

bool by_others(unsigned number) {
    return number == 1205 || number == 1213 || number == 3572 || number == 1020;
}

void check(std::string_view name, const optimistic_options& options) {
    const auto control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
    if (name.empty() || name.size() > 200 || std::any_of(name.begin(), name.end(), control))
        throw error(errc::invalid_name, "a name has 1 to 200 bytes and no control characters");
    const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
    if (options.attempts == 0 || options.table.empty() || options.table.size() > 64 ||
        !std::all_of(options.table.begin(), options.table.end(), plain))
        throw error(errc::invalid_option, "attempts must be 1 or more, and the table's name letters, digits and _");
}

// The version and how long it is held, in microseconds; a row that is missing is made.
std::pair<std::int64_t, std::int64_t> read(MYSQL* on, const std::string& name, const optimistic_options& options) {
    const std::string text = "SELECT version, held_until - CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) FROM " +
                             options.table + " WHERE name = ?";
    const statement first{on, name, text};
    if (!first.failed())
        if (const auto found = first.row()) return *found;
    if (first.failed() && first.number() != 1146) first.fail();
    if (first.failed()) {
        const std::string make = "CREATE TABLE IF NOT EXISTS " + options.table +
                                 "(name VARBINARY(200) NOT NULL PRIMARY KEY, version BIGINT NOT NULL DEFAULT 0, "
                                 "held_until BIGINT NOT NULL DEFAULT 0) ENGINE=InnoDB";
        if (mysql_real_query(on, make.data(), static_cast<unsigned long>(make.size())) != 0)
            throw error(errc::denied, std::string("cannot make the table ") + options.table + ": " + mysql_error(on));
    }
    const statement make{on, name, "INSERT IGNORE INTO " + options.table + "(name) VALUES(?)"};
    if (make.failed() && !by_others(make.number())) make.fail();
    const statement second{on, name, text};
    if (second.failed()) second.fail();
    if (const auto found = second.row()) return *found;
    throw error(errc::unsupported, "version of '" + name + "': its row cannot be made");
}

void pause(std::chrono::milliseconds most, unsigned attempt) {
    thread_local std::minstd_rand dice{std::random_device{}()};
    const auto longest = std::chrono::microseconds{
        std::min<std::int64_t>(std::chrono::microseconds{most}.count(), std::int64_t{200} << std::min(attempt, 10U))};
    if (longest.count() <= 0) return std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds{dice() % static_cast<std::uint64_t>(longest.count())});
}

void begin_or_end(MYSQL* on, const char* text) {
    if (mysql_query(on, text) != 0)
        throw error(errc::unreachable,
                    std::string(text) + ": " + mysql_error(on) + " (error " + std::to_string(mysql_errno(on)) + ")");
}

}  // namespace

version_transaction::version_transaction(st_mysql* connection, std::string_view name, const optimistic_options& options)
    : connection_(connection), name_(name), options_(options) {
    check(name, options);
    read(connection_, name_, options_);  // makes the row, before there is a transaction
}

version_transaction::~version_transaction() {
    roll_back();
}

std::uint64_t version_transaction::begin() {
    ++attempts_;
    begin_or_end(connection_, "START TRANSACTION");
    open_ = true;
    version_ = static_cast<std::uint64_t>(read(connection_, name_, options_).first);
    return version_;
}

bool version_transaction::commit() {
    const statement change{connection_,
                           name_,
                           "UPDATE " + options_.table + " SET version = version + 1 WHERE name = ? AND version = ?",
                           {static_cast<std::int64_t>(version_)}};
    if (change.failed() && !by_others(change.number())) change.fail();
    if (change.failed() || change.affected() != 1) {
        roll_back();
        return false;
    }
    begin_or_end(connection_, "COMMIT");
    open_ = false;
    return true;
}

bool version_transaction::conflict() const {
    return by_others(mysql_errno(connection_));
}

void version_transaction::roll_back() noexcept {
    if (std::exchange(open_, false)) static_cast<void>(mysql_query(connection_, "ROLLBACK"));
}

void version_transaction::pause_or_give_up() {
    if (attempts_ >= options_.attempts)
        throw error(errc::busy, "version of '" + name_ + "': others changed it during each of " +
                                    std::to_string(attempts_) + " attempts; use a lock where many want the same");
    pause(options_.longest_pause, attempts_);
}

version_lock::version_lock(st_mysql* connection, std::string_view name, std::chrono::milliseconds lease,
                           const optimistic_options& options)
    : connection_(connection), name_(name), lease_(lease), options_(options) {
    check(name, options);
    if (lease.count() <= 0) throw error(errc::invalid_option, "the lease must be longer than nothing");
}

version_lock::~version_lock() {
    try {
        unlock();
    } catch (const std::exception&) {  // its lease ends
    }
}

bool version_lock::try_lock() {
    if (held_) return false;
    const auto [version, left] = read(connection_, name_, options_);
    if (left > 0) return false;
    const statement taken{connection_,
                          name_,
                          "UPDATE " + options_.table +
                              " SET version = version + 1, held_until = "
                              "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED) + " +
                              std::to_string(std::chrono::microseconds{lease_}.count()) +
                              " WHERE name = ? AND version = ?",
                          {version}};
    if (taken.failed() && !by_others(taken.number())) taken.fail();
    held_ = !taken.failed() && taken.affected() == 1;
    if (held_) version_ = static_cast<std::uint64_t>(version) + 1;
    return held_;
}

void version_lock::lock() {
    for (unsigned tries = 1; !try_lock(); ++tries) {
        if (tries >= options_.attempts)
            throw error(errc::busy, "version of '" + name_ + "': it was held during each of " + std::to_string(tries) +
                                        " attempts");
        pause(options_.longest_pause, tries);
    }
}

bool version_lock::unlock() {
    if (!std::exchange(held_, false)) return false;
    const statement freed{
        connection_,
        name_,
        "UPDATE " + options_.table + " SET version = version + 1, held_until = 0 WHERE name = ? AND version = ?",
        {static_cast<std::int64_t>(version_)}};
    if (freed.failed()) freed.fail();
    return freed.affected() == 1;
}

}  // namespace mortise::inline v0::sql
