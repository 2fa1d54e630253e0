// The sessions of one client for strategy=advisory, and the statements that are run on them.
#pragma once

#include "net/poller.hpp"
#include "stores/postgres/advisory_table.hpp"
#include "stores/postgres/settings.hpp"
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

namespace mortise::inline v0::stores::postgres {

// Safe to use from all threads. Callbacks come from any thread, also from inside a call, and never while a mutex is held.
//
// The sequence of the tokens is made when it is found missing. Every new session first moves it on, committed, by more than what a
// server that crashes can have given out and forgotten: numbers of a sequence are written to the log 32 at a time, and a session
// that gets one which another has written does not wait for it.
class advisory_sessions : public std::enable_shared_from_this<advisory_sessions> {
public:
    using session = advisory_table::session;
    using lock_result = advisory_table::lock_result;

    // `lost`: the session was lost, or another has taken its place.
    advisory_sessions(const settings& settings, const spi::context& context, net::poller& sockets,
                      std::function<void(session)> lost);

    void try_lock(const std::string& name, unique_function<void(lock_result)> done);
    void wait(session where, const std::string& name, unique_function<void(lock_result)> done);
    // Ends what a session waits for, or the session.
    void cancel(session where);
    void clear(session where, unique_function<void()> done);
    // Whether it was locked; none: that session is gone.
    void unlock(session where, std::int64_t pid, const std::string& name,
                unique_function<void(std::optional<bool>)> done);
    // Which session it is; none: not known.
    void ping(session where, unique_function<void(std::optional<std::int64_t>)> done);
    // Whether anybody has the lock; none: not known.
    void look(const std::string& name, unique_function<void(std::optional<bool>)> done);
    // Any statement, on the main session.
    void ask(const sql::statement& what, unique_function<void(sql::result)> done);

    void close() noexcept;

private:
    struct one_session {
        std::shared_ptr<sql::connection> line;
        std::int64_t pid = 0;     // as far as it is known
        std::uint64_t waits = 0;  // how many have begun
        bool waiting = false;
        bool locked = false;  // it may hold something
    };

    std::shared_ptr<sql::connection> connect(session which);
    sql::connection& on(session which);
    sql::connection& aside();
    void take(session where, const sql::statement& how, std::int64_t key, spi::duration patience, bool may_make,
              unique_function<void(lock_result)> done);
    void make_sequence(unique_function<void(sql::outcome)> done);
    lock_result failed(const sql::outcome& how) const;
    std::int64_t key_in(const std::string& name);
    std::int64_t key_of(const std::string& name);
    void note(session where, std::int64_t pid);
    void bury(session which);

    const settings settings_;
    const spi::context context_;
    net::poller& sockets_;
    const std::function<void(session)> lost_;
    const std::string called_;  // application_name, of this client only
    const sql::statement create_schema_;
    const sql::statement create_sequence_;

    std::mutex mutex_;
    std::vector<std::unique_ptr<one_session>> all_;
    std::string latest_name_;  // whose number is known: it is asked for again when it is released
    std::int64_t latest_key_ = 0;
};

// What an administrator runs before the first use if the user of the locks may not.
std::string advisory_schema(const settings& settings);

}  // namespace mortise::inline v0::stores::postgres
