// A lock for work that is one transaction in PostgreSQL. Link mortise::postgres_transaction.
#pragma once

#include <mortise/config.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

struct pg_conn;  // PGconn of libpq

namespace mortise::inline v0::sql {

struct transaction_options {
    // How long to wait for the lock; none: until it is free. Zero: not at all.
    std::optional<std::chrono::milliseconds> wait{};
    // As in the address of a store: the lock is the same as that of `postgres://...?strategy=advisory&schema=...`.
    std::string schema = "mortise";
};

// Runs `work(connection)` in a transaction that holds the lock, on the caller's own connection:
//
//   with_transaction(connection, "stock/17", [](PGconn* c) { PQclear(PQexec(c, "UPDATE stock SET ...")); });
//
// If all that the lock protects is changed in the transaction, this is safer than any lock with a lease, and needs no token: the
// server frees the lock when the transaction ends, and not before. A caller that is paused or cut off has changed nothing.
//
//   - The transaction is committed when `work` returns, and rolled back if it throws, also if a statement of it failed: check
//     your results and throw.
//   - `work` may run statements, but must not begin, commit or roll back.
//   - The connection belongs to the caller, who must not use it in other threads meanwhile. It must be idle, outside of a
//     transaction, not in pipeline mode, and blocking or not.
//   - It excludes other transactions under the same name and schema, and holders of the same name in a store with
//     strategy=advisory and that schema. Names are limited as everywhere.
//   - A pooler in transaction mode does no harm here.
//
// Throws mortise::error: timed_out if the lock did not become free in time, would_deadlock if the server broke a cycle, `lost` if
// the transaction was not committed, because a statement of `work` had failed or the server rolled it back (serialization), and
// then nothing has happened; unreachable if the connection broke, and then it may have been committed; invalid_name, and
// invalid_option for a connection that is not idle. What `work` throws is thrown on.
template <class Work>
requires std::is_invocable_v<Work, pg_conn*>
decltype(auto) with_transaction(pg_conn* connection, std::string_view name, Work&& work,
                                const transaction_options& options = {});

// How it does that; a transaction that is not committed is rolled back.
class MORTISE_API locked_transaction {
public:
    locked_transaction(pg_conn* connection, std::string_view name, const transaction_options& options);
    ~locked_transaction();
    locked_transaction(const locked_transaction&) = delete;
    locked_transaction& operator=(const locked_transaction&) = delete;

    void commit();

private:
    pg_conn* connection_;
    std::string name_;
    bool open_ = true;
};

template <class Work>
requires std::is_invocable_v<Work, pg_conn*>
decltype(auto) with_transaction(pg_conn* connection, std::string_view name, Work&& work,
                                const transaction_options& options) {
    locked_transaction inside{connection, name, options};
    if constexpr (std::is_void_v<std::invoke_result_t<Work, pg_conn*>>) {
        std::invoke(std::forward<Work>(work), connection);
        inside.commit();
    } else {
        decltype(auto) result = std::invoke(std::forward<Work>(work), connection);
        inside.commit();
        return static_cast<std::invoke_result_t<Work, pg_conn*>>(std::forward<decltype(result)>(result));
    }
}

}  // namespace mortise::inline v0::sql
