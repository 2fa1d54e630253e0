// Optimistic locking in MySQL and MariaDB: a version that must not have changed. Link mortise::mysql_optimistic.
#pragma once

#include <mortise/config.hpp>

#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

struct st_mysql;  // MYSQL of libmariadb and libmysqlclient

namespace mortise::inline v0::sql {

struct optimistic_options {
    // Attempts before the caller is told that others are always faster; 1: rolls back at the first conflict.
    unsigned attempts = 100;
    // Between attempts, at most; each pause is random.
    std::chrono::milliseconds longest_pause{20};
    // Made if it is missing: name VARBINARY(200) PRIMARY KEY, version BIGINT, held_until BIGINT.
    std::string table = "mortise_versions";
};

struct optimistic_result {
    std::uint64_t version = 0;  // that the change made
    unsigned attempts = 0;      // that it took
};

// Runs `change(connection, version)` in a transaction that is committed only if nobody else has changed the version of `name`
// meanwhile, and repeats it if somebody has:
//
//   change_if_unchanged(connection, "stock/17", [](MYSQL* c, std::uint64_t) { mysql_query(c, "UPDATE stock SET ..."); });
//
//   - All that `change` does must be statements on this connection: what a loser has done vanishes with its transaction. Anything
//     else (a mail, a file) happens once for each attempt.
//   - `change` must not begin, commit or roll back. It should throw if a statement fails; if that was a deadlock or a lock
//     timeout, it is repeated, else it is rolled back and thrown on.
//   - The row of a name that has none is made first, committed.
//   - The connection belongs to the caller, blocks, and must be in autocommit mode and outside of a transaction.
//
// Nobody waits for a lock that somebody holds; so it is good where conflicts are rare. Where they are not, everybody works and all
// but one throw it away: use a lock.
//
// Throws mortise::error: `busy` when the attempts are used up, and then nothing has happened; unreachable if the connection broke, and
// then it may have been committed; denied, invalid_name, invalid_option.
template <class Change>
requires std::is_invocable_v<Change, st_mysql*, std::uint64_t> optimistic_result change_if_unchanged(
    st_mysql* connection, std::string_view name, Change&& change, const optimistic_options& options = {});

// How it does that.
class MORTISE_API version_transaction {
public:
    version_transaction(st_mysql* connection, std::string_view name, const optimistic_options& options);
    ~version_transaction();  // rolls back
    version_transaction(const version_transaction&) = delete;
    version_transaction& operator=(const version_transaction&) = delete;

    std::uint64_t begin();  // reads the version
    bool commit();          // false: it has changed, and all was rolled back
    bool conflict() const;  // the last statement failed because of others
    void roll_back() noexcept;
    void pause_or_give_up();  // throws errc::busy when the attempts are used up
    unsigned attempts() const noexcept { return attempts_; }

private:
    st_mysql* connection_;
    std::string name_;
    optimistic_options options_;
    std::uint64_t version_ = 0;
    unsigned attempts_ = 0;
    bool open_ = false;
};

// A lock made of a version, as tutorials show it: whoever changes the version from what it has read has the lock, until it changes it
// once more or its lease is over by the server's clock. It polls, renews nothing and keeps no order; a store's locks are better
// in every respect but that this needs one table and one connection. The version is the fencing token.
class MORTISE_API version_lock {
public:
    version_lock(st_mysql* connection, std::string_view name, std::chrono::milliseconds lease,
                 const optimistic_options& options = {});
    ~version_lock();  // unlocks
    version_lock(const version_lock&) = delete;
    version_lock& operator=(const version_lock&) = delete;

    bool try_lock();
    void lock();    // throws errc::busy when the attempts are used up
    bool unlock();  // false: the lease was over, and somebody else has had it
    std::uint64_t token() const noexcept { return version_; }

private:
    st_mysql* connection_;
    std::string name_;
    std::chrono::milliseconds lease_;
    optimistic_options options_;
    std::uint64_t version_ = 0;
    bool held_ = false;
};

template <class Change>
requires std::is_invocable_v<Change, st_mysql*, std::uint64_t> optimistic_result
change_if_unchanged(st_mysql* connection, std::string_view name, Change&& change, const optimistic_options& options) {
    version_transaction one{connection, name, options};
    while (true) {
        const std::uint64_t version = one.begin();
        std::exception_ptr failed;
        try {
            std::invoke(change, connection, version);
        } catch (...) {
            failed = std::current_exception();
        }
        if (failed && !one.conflict()) std::rethrow_exception(failed);
        if (!failed && one.commit()) return {.version = version + 1, .attempts = one.attempts()};
        one.roll_back();
        one.pause_or_give_up();
    }
}

}  // namespace mortise::inline v0::sql
