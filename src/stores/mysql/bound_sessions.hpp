// The connections of one client for the strategies whose locks belong to a connection, and what is run on them.
#pragma once

#include "net/poller.hpp"
#include "stores/mysql/bound_table.hpp"
#include "stores/mysql/settings.hpp"
#include "stores/mysql/statements.hpp"
#include "stores/sql/connection.hpp"

#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>
#include <mortise/unique_function.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace mortise::inline v0::stores::mysql {

// Safe to use from all threads. Callbacks come from any thread, also from inside a call, and never while a mutex is held.
//
// There is one connection for each claim that waits or holds, made when it is first needed, and one shared by all, which never
// waits. Tables are made when they are found missing.
class bound_sessions : public std::enable_shared_from_this<bound_sessions> {
public:
    using place = bound_table::place;
    using taken = bound_table::taken;
    using action = bound_table::action;

    // `lost`: the connection that was there with this number is gone.
    bound_sessions(const settings& settings, const spi::context& context, net::poller& sockets,
                   std::function<void(place, std::int64_t)> lost);

    void take(action what, unique_function<void(taken)> done);
    void stop(place where);
    void stamp(const action& what, unique_function<void(taken)> done);
    void free(action what, unique_function<void()> done);
    // The number of the connection that is there; none: it could not be asked.
    void ping(place where, unique_function<void(std::optional<std::int64_t>)> done);
    // On the shared connection. A missing table is made.
    void ask(const sql::statement& what, sql::values bound, unique_function<void(sql::result)> done);

    const bound_statements& statements() const { return says_; }
    sql::connection& shared() { return *shared_; }
    // On which a caller that has just asked for something waits for the answer.
    std::shared_ptr<sql::connection> line_of(place where);
    const std::shared_ptr<sql::connection>& shared_line() const { return shared_; }
    void close() noexcept;

private:
    struct session {
        std::shared_ptr<sql::connection> line;
        std::int64_t number = 0;   // 0: not known
        std::uint64_t oldest = 0;  // token of this connection whose record was not removed
        std::uint64_t newest = 0;
        spi::time_point swept{};
        std::uint64_t waits = 0;  // how many have begun
        bool waiting = false;
        std::uint64_t stopped = 0;             // the wait that a KILL QUERY is on its way for
        unique_function<void()> when_stopped;  // what follows a wait that ended before its KILL QUERY was answered
    };

    std::shared_ptr<sql::connection> connect(place where);
    void identify(place where, unique_function<void(const sql::outcome&)> done);
    using shared_action = std::shared_ptr<action>;  // until the statement is answered
    void run_take(const shared_action& what, std::int64_t number, bool may_make, unique_function<void(taken)> done);
    void took(const shared_action& what, std::int64_t number, bool may_make, spi::time_point sent,
              const sql::result& got, unique_function<void(taken)> done);
    void run_free(const shared_action& what, unique_function<void()> done);
    void make_schema(std::size_t next, unique_function<void(const sql::outcome&)> done);
    void stop_answered(place where, std::uint64_t which);
    taken failed(const sql::outcome& how) const;
    void note_token(place where, std::int64_t number, std::uint64_t token);
    void sweep(place where);
    void forget_dead(std::uint64_t before);
    void down(place where);

    const settings settings_;
    const spi::context context_;
    net::poller& sockets_;
    const bound_statements says_{settings_.by};
    const std::function<void(place, std::int64_t)> lost_;

    std::mutex mutex_;
    std::vector<session> all_;
    std::optional<spi::time_point> forgot_;  // when it last looked for records of the dead
    std::shared_ptr<sql::connection> shared_;
};

}  // namespace mortise::inline v0::stores::mysql
