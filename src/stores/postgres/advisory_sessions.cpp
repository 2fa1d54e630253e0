#include "stores/postgres/advisory_sessions.hpp"

#include "base/text.hpp"
#include "stores/postgres/advisory_statements.hpp"
#include "stores/postgres/lock_key.hpp"
#include "stores/postgres/pq_driver.hpp"
#include "stores/sql/reading_callers.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/error.hpp>

#include <utility>

namespace mortise::inline v0::stores::postgres {

const sql::statement try_statement{
    "SELECT CASE WHEN pg_try_advisory_lock($1) THEN nextval('mortise_tokens') END, pg_backend_pid()"};
const sql::statement wait_statement{"SELECT nextval('mortise_tokens'), pg_backend_pid() FROM pg_advisory_lock($1)"};
const sql::statement unlock_statement{"SELECT CASE WHEN pg_backend_pid() = $2 THEN pg_advisory_unlock($1) END"};

namespace {

using kind = sql::outcome::kind;
using verdict = advisory_table::lock_result::verdict;
using claim_is = spi::claim_answer::verdict;

// Of a statement that waits for a lock: the wait has no end of its own.
constexpr spi::duration any_time = std::chrono::hours{24 * 365};
// A wait that is cancelled and does not end loses its session.
constexpr std::chrono::seconds cancel_time{1};

// Tokens have 54 bits of it.
constexpr const char* sequence = "mortise_tokens AS bigint MAXVALUE 18014398509481983";

const sql::statement move_on{
    "SELECT max(nextval(tokens.sequence)) FROM (SELECT to_regclass('mortise_tokens') AS sequence) AS tokens, "
    "generate_series(1, 1024) WHERE tokens.sequence IS NOT NULL"};
const sql::statement undo_statement{"SELECT pg_advisory_unlock($1)"};
const sql::statement clear_statement{"SELECT pg_advisory_unlock_all()"};
const sql::statement ping_statement{"SELECT pg_backend_pid()"};
const sql::statement cancel_statement{"SELECT pg_cancel_backend($1::int)"};
const sql::statement look_statement{
    "SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND "
    "database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND "
    "classid::bigint = ($1::bigint >> 32) & 4294967295 AND objid::bigint = $1::bigint & 4294967295)"};
// A session of ours that we have given up, while the server has not.
const sql::statement bury_statement{
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = $1::int AND pid <> pg_backend_pid() AND "
    "application_name = convert_from($2::bytea, 'UTF8') AND usename = current_user"};

const std::int64_t* number_at(const sql::result& of, std::size_t column) {
    if (of.rows.empty() || of.rows[0].size() <= column) return nullptr;
    return std::get_if<std::int64_t>(&of.rows[0][column]);
}

bool cut_off(const sql::outcome& how) {
    return how.is == kind::unsent || how.is == kind::unsure;
}

}  // namespace

advisory_sessions::advisory_sessions(const settings& settings, const spi::context& context, net::poller& sockets,
                                     std::function<void(session)> lost)
    : settings_(settings),
      context_(context),
      sockets_(sockets),
      lost_(std::move(lost)),
      called_(
          ("mortise " + claim_id::random().hex().substr(0, 12) + " " + std::to_string(context.pid) + " " + context.host)
              .substr(0, 63)),
      create_schema_{"CREATE SCHEMA IF NOT EXISTS " + quoted_identifier(settings_.schema)},
      create_sequence_{"CREATE SEQUENCE IF NOT EXISTS " + quoted_identifier(settings_.schema) + "." + sequence} {
    for (session one = 0; one <= settings_.wait_connections; ++one) {
        all_.push_back(std::make_unique<one_session>());
        all_.back()->line = connect(one);
    }
}

// They connect when they are first used.
std::shared_ptr<sql::connection> advisory_sessions::connect(session which) {
    const session_plan plan{.called = called_, .ends_idle = settings_.session};
    return std::make_shared<sql::connection>(
        sql::connection::setup{.servers = settings_.servers,
                               .make = [config = settings_, plan] { return make_driver(config, plan); },
                               .timeout = settings_.timeout,
                               .greets =
                                   [] {
                                       return std::vector<sql::connection::greeting>{{&move_on, {}}};
                                   },
                               .down =
                                   [this, which](const sql::outcome&) {
                                       bury(which);
                                       lost_(which);
                                   }},
        context_.clock, sockets_);
}

// The main session, for what nobody sleeps for: the io thread reads the answer, and has to begin at once.
sql::connection& advisory_sessions::aside() {
    sql::connection::will_wait(false);
    return *all_.front()->line;
}

// For what the calling thread may sleep for.
sql::connection& advisory_sessions::on(session which) {
    sql::reading_callers::about_to_ask({}, all_[which]->line);
    return *all_[which]->line;
}

// The server may keep a session that was cut off, and its locks, until it notices. So it is told.
void advisory_sessions::bury(session which) {
    std::int64_t pid = 0;
    {
        const std::scoped_lock guard{mutex_};
        pid = std::exchange(all_[which]->pid, 0);
        if (!std::exchange(all_[which]->locked, false)) return;
    }
    if (pid == 0) return;
    context_.clock.at(context_.clock.now() + std::chrono::milliseconds{50}, [weak = weak_from_this(), pid] {
        if (const auto self = weak.lock())
            self->aside().run(bury_statement, {pid, self->called_}, [](const sql::result&) {});
    });
}

void advisory_sessions::note(session where, std::int64_t pid) {
    const std::scoped_lock guard{mutex_};
    all_[where]->pid = pid;
}

advisory_sessions::lock_result advisory_sessions::failed(const sql::outcome& how) const {
    lock_result result{.is = cut_off(how) ? verdict::cut_off : verdict::failed};
    spi::claim_answer& why = result.why;
    why.detail = how.detail;
    why.unreached = how.unmet;
    switch (how.is) {
        case kind::denied:
        case kind::no_schema:
            why.is = claim_is::refused;
            why.reason = errc::denied;
            why.detail += "; `mortise schema` prints what an administrator has to run";
            break;
        case kind::read_only:
            if (settings_.servers.size() > 1) {  // another one of them may be the primary
                why.reason = errc::unreachable;
                break;
            }
            [[fallthrough]];
        case kind::foreign:
        case kind::refused:
            why.is = claim_is::refused;
            why.reason = errc::unsupported;
            break;
        case kind::full:
            why.is = claim_is::refused;
            why.reason = errc::exhausted;
            break;
        case kind::exhausted:
            why.reason = errc::exhausted;
            break;
        default:
            why.reason = errc::unreachable;
    }
    if (how.is == kind::denied && how.hopeless) why.detail = how.detail;  // could not connect
    return result;
}

// ---- locks

// With the mutex held.
std::int64_t advisory_sessions::key_in(const std::string& name) {
    if (name != latest_name_) {
        latest_key_ = lock_key(settings_.schema, name);
        latest_name_ = name;
    }
    return latest_key_;
}

std::int64_t advisory_sessions::key_of(const std::string& name) {
    const std::scoped_lock guard{mutex_};
    return key_in(name);
}

void advisory_sessions::take(session where, const sql::statement& how, std::int64_t key, spi::duration patience,
                             bool may_make, unique_function<void(lock_result)> done) {
    auto answered = [this, where, &how, key, patience, may_make, sent = context_.clock.now(),
                     done = std::move(done)](const sql::result& got) mutable {
        if (got.how.is == kind::no_schema && may_make)
            return make_sequence([this, where, &how, key, patience, done = std::move(done)](sql::outcome made) mutable {
                if (!made.ok()) return done(failed(made));
                {
                    const std::scoped_lock guard{mutex_};
                    all_[where]->locked = true;
                }
                take(where, how, key, patience, false, std::move(done));
            });
        if (!got.how.ok()) {
            // The lock may have been taken before the statement failed.
            if (!cut_off(got.how) && where == advisory_table::main)
                aside().run(undo_statement, {key}, [](const sql::result&) {});
            return done(failed(got.how));
        }
        const std::int64_t* const counter = number_at(got, 0);
        const std::int64_t* const pid = number_at(got, 1);
        if (pid != nullptr) note(where, *pid);
        if (counter == nullptr || pid == nullptr) return done({.is = verdict::not_free});
        done({.is = verdict::taken, .counter = static_cast<std::uint64_t>(*counter), .pid = *pid, .sent = sent});
    };
    on(where).run(how, {key}, std::move(answered), patience);
}

void advisory_sessions::try_lock(const std::string& name, unique_function<void(lock_result)> done) {
    std::int64_t key = 0;
    {
        const std::scoped_lock guard{mutex_};
        all_[advisory_table::main]->locked = true;
        key = key_in(name);
    }
    take(advisory_table::main, try_statement, key, {}, true, std::move(done));
}

void advisory_sessions::wait(session where, const std::string& name, unique_function<void(lock_result)> done) {
    one_session& its = *all_[where];
    bool known = false;
    std::int64_t key = 0;
    {
        const std::scoped_lock guard{mutex_};
        its.waiting = its.locked = true;
        ++its.waits;
        known = its.pid != 0;
        key = key_in(name);
    }
    // To cancel a wait one must know the session. Sent together, they are one trip.
    if (!known)
        on(where).run(ping_statement, {}, [this, where](const sql::result& got) {
            if (const std::int64_t* const pid = number_at(got, 0)) note(where, *pid);
        });
    take(where, wait_statement, key, any_time, true, [this, where, done = std::move(done)](lock_result how) mutable {
        {
            const std::scoped_lock guard{mutex_};
            all_[where]->waiting = false;
        }
        done(std::move(how));
    });
}

// A cancellation may arrive when the wait has ended, and end the next statement of the session instead. That is clear(), which is
// then repeated, or a wait, which is then begun anew.
void advisory_sessions::cancel(session where) {
    std::int64_t pid = 0;
    std::uint64_t which = 0;
    {
        const std::scoped_lock guard{mutex_};
        pid = all_[where]->pid;
        which = all_[where]->waits;
    }
    const auto drop = [this, where, which] {
        {
            const std::scoped_lock guard{mutex_};
            if (!all_[where]->waiting || all_[where]->waits != which) return;
        }
        all_[where]->line->drop();
    };
    if (pid == 0) return drop();
    context_.clock.at(context_.clock.now() + cancel_time, [weak = weak_from_this(), drop] {
        if (const auto self = weak.lock()) drop();
    });
    aside().run(cancel_statement, {pid}, [drop](const sql::result& got) {
        if (!got.how.ok()) drop();
    });
}

void advisory_sessions::clear(session where, unique_function<void()> done) {
    on(where).run(clear_statement, {}, [this, where, done = std::move(done)](const sql::result& got) mutable {
        if (got.how.is == kind::conflict) return clear(where, std::move(done));
        if (!got.how.ok() && !cut_off(got.how)) all_[where]->line->drop();
        done();
    });
}

void advisory_sessions::unlock(session where, std::int64_t pid, const std::string& name,
                               unique_function<void(std::optional<bool>)> done) {
    on(where).run(unlock_statement, {key_of(name), pid}, [done = std::move(done)](const sql::result& got) mutable {
        const std::int64_t* const freed = number_at(got, 0);
        done(freed != nullptr ? std::optional{*freed != 0} : std::nullopt);
    });
}

void advisory_sessions::ping(session where, unique_function<void(std::optional<std::int64_t>)> done) {
    on(where).run(ping_statement, {}, [this, where, done = std::move(done)](const sql::result& got) mutable {
        const std::int64_t* const pid = number_at(got, 0);
        if (pid != nullptr) note(where, *pid);
        done(pid != nullptr ? std::optional{*pid} : std::nullopt);
    });
}

void advisory_sessions::look(const std::string& name, unique_function<void(std::optional<bool>)> done) {
    aside().run(look_statement, {key_of(name)}, [done = std::move(done)](const sql::result& got) mutable {
        const std::int64_t* const somebody = number_at(got, 0);
        done(somebody != nullptr ? std::optional{*somebody != 0} : std::nullopt);
    });
}

void advisory_sessions::ask(const sql::statement& what, unique_function<void(sql::result)> done) {
    aside().run(what, {}, std::move(done));
}

// ---- tokens

// Others may be making it at the same time.
void advisory_sessions::make_sequence(unique_function<void(sql::outcome)> done) {
    const auto worked = [](const sql::outcome& how) { return how.ok() || how.is == kind::exists; };
    aside().run(create_schema_, {}, [this, worked, done = std::move(done)](const sql::result& first) mutable {
        if (cut_off(first.how)) return done(first.how);
        // The schema may be there although we may not make one.
        aside().run(create_sequence_, {},
                    [worked, schema = first.how, done = std::move(done)](const sql::result& second) mutable {
                        if (worked(second.how)) return done({});
                        done(worked(schema) ? second.how : schema);
                    });
    });
}

void advisory_sessions::close() noexcept {
    for (const auto& one : all_) one->line->close();
}

std::string advisory_schema(const settings& settings) {
    const std::string schema = quoted_identifier(settings.schema);
    const std::string user = quoted_identifier(settings.user);
    return "CREATE SCHEMA IF NOT EXISTS " + schema +
           ";\n"
           "CREATE SEQUENCE IF NOT EXISTS " +
           schema + "." + sequence +
           ";\n"
           "GRANT USAGE ON SCHEMA " +
           schema + " TO " + user +
           ";\n"
           "GRANT USAGE ON SEQUENCE " +
           schema + ".mortise_tokens TO " + user + ";\n";
}

}  // namespace mortise::inline v0::stores::postgres
