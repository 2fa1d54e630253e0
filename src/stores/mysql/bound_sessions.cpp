#include "stores/mysql/bound_sessions.hpp"

#include "stores/mysql/failures.hpp"
#include "stores/mysql/mariadb_driver.hpp"

#include <mortise/error.hpp>

#include <utility>

namespace mortise::inline v0::stores::mysql {
namespace {

using kind = sql::outcome::kind;
using verdict = bound_table::taken::verdict;
using claim_is = spi::claim_answer::verdict;

// A wait in the server is begun anew after so long, in case the server and we disagree about it.
constexpr std::chrono::seconds longest_wait{600};
// A wait that was stopped and does not end loses its connection.
constexpr std::chrono::seconds stop_time{1};
constexpr std::chrono::seconds between_sweeps{1};
constexpr std::chrono::minutes between_looks_for_the_dead{1};
// The shared connection may be silent for longer: nothing belongs to it.
constexpr std::chrono::seconds shared_silence{3600};

std::optional<std::int64_t> number_in(const sql::result& of) {
    if (of.rows.empty() || of.rows[0].empty()) return std::nullopt;
    const auto* const number = std::get_if<std::int64_t>(&of.rows[0][0]);
    return number != nullptr ? std::optional{*number} : std::nullopt;
}

bool cut_off(const sql::outcome& how) {
    return how.is == kind::unsent || how.is == kind::unsure;
}

}  // namespace

bound_sessions::bound_sessions(const settings& settings, const spi::context& context, net::poller& sockets,
                               std::function<void(place, std::int64_t)> lost)
    : settings_(settings),
      context_(context),
      sockets_(sockets),
      lost_(std::move(lost)),
      all_(settings.connections),
      shared_(std::make_shared<sql::connection>(sql::connection::setup{.servers = settings_.servers,
                                                                       .make = make_drivers(settings_, shared_silence),
                                                                       .timeout = settings_.timeout},
                                                context_.clock, sockets_)) {}

std::shared_ptr<sql::connection> bound_sessions::connect(place where) {
    const auto silence = std::chrono::duration_cast<std::chrono::seconds>(settings_.session);
    return std::make_shared<sql::connection>(
        sql::connection::setup{.servers = settings_.servers,
                               .make = make_drivers(settings_, silence),
                               .timeout = settings_.timeout,
                               .greets =
                                   [this] {
                                       std::vector<sql::connection::greeting> all;
                                       for (const sql::statement& one : says_.greets) all.push_back({&one, {}});
                                       return all;
                                   },
                               .down = [this, where](const sql::outcome&) { down(where); }},
        context_.clock, sockets_);
}

std::shared_ptr<sql::connection> bound_sessions::line_of(place where) {
    const std::scoped_lock guard{mutex_};
    session& one = all_.at(where);
    if (!one.line) one.line = connect(where);
    return one.line;
}

// The server may keep a connection that was cut off, and its lock, until it notices. So it is told.
void bound_sessions::down(place where) {
    std::int64_t number = 0;
    {
        const std::scoped_lock guard{mutex_};
        session& one = all_.at(where);
        number = std::exchange(one.number, 0);
        one.oldest = one.newest = 0;
    }
    if (number == 0) return;
    shared_->run(says_.kill, {number}, [](const sql::result&) {});
    lost_(where, number);
}

bound_sessions::taken bound_sessions::failed(const sql::outcome& how) const {
    return {.is = cut_off(how) && !how.hopeless ? verdict::cut_off : verdict::failed, .why = answer_of(how)};
}

// ---- taking a lock

void bound_sessions::identify(place where, unique_function<void(const sql::outcome&)> done) {
    line_of(where)->run(says_.who, {}, [this, where, done = std::move(done)](const sql::result& got) mutable {
        if (const auto number = number_in(got)) {
            const std::scoped_lock guard{mutex_};
            all_.at(where).number = *number;
        }
        done(got.how);
    });
}

void bound_sessions::take(action wanted, unique_function<void(taken)> done) {
    const auto what = std::make_shared<action>(std::move(wanted));
    std::int64_t number = 0;
    {
        const std::scoped_lock guard{mutex_};
        session& one = all_.at(what->where);
        number = one.number;
        one.waiting = true;
        ++one.waits;
    }
    auto ended = [this, where = what->where, done = std::move(done)](taken how) mutable {
        {
            const std::scoped_lock guard{mutex_};
            session& one = all_.at(where);
            one.waiting = false;
            if (one.stopped != 0) {
                one.when_stopped = [how = std::move(how), done = std::move(done)]() mutable { done(std::move(how)); };
                return;
            }
        }
        done(std::move(how));
    };
    if (number != 0) return run_take(what, number, true, std::move(ended));
    identify(what->where, [this, what, ended = std::move(ended)](const sql::outcome& how) mutable {
        if (!how.ok()) return ended(failed(how));
        std::int64_t known = 0;
        {
            const std::scoped_lock guard{mutex_};
            known = all_.at(what->where).number;
        }
        run_take(what, known, true, std::move(ended));
    });
}

void bound_sessions::run_take(const shared_action& what, std::int64_t number, bool may_make,
                              unique_function<void(taken)> done) {
    const std::int64_t seconds = what->waits ? longest_wait.count() : 0;
    sql::values bound;
    bound.reserve(7);
    bound.emplace_back(what->name);
    if (settings_.by == strategy::get_lock) {
        bound.emplace_back(context_.host);
        bound.emplace_back(context_.pid);
        bound.emplace_back(what->label);
        bound.emplace_back(number);
        bound.emplace_back(what->name);
        bound.emplace_back(seconds);
    }
    const spi::time_point sent = context_.clock.now();
    line_of(what->where)
        ->run(
            what->waits ? says_.take : says_.take_now, std::move(bound),
            [this, what, number, may_make, sent, done = std::move(done)](const sql::result& got) mutable {
                took(what, number, may_make, sent, got, std::move(done));
            },
            std::chrono::seconds{seconds});
}

void bound_sessions::took(const shared_action& what, std::int64_t number, bool may_make, spi::time_point sent,
                          const sql::result& got, unique_function<void(taken)> done) {
    if (got.how.is == kind::no_schema && may_make)
        return make_schema(0, [this, what, number, done = std::move(done)](const sql::outcome& made) mutable {
            if (!made.ok()) return done(failed(made));
            run_take(what, number, false, std::move(done));
        });
    if (settings_.by == strategy::for_update) {
        if (got.how.is == kind::conflict) return done({.is = what->waits ? verdict::again : verdict::not_free});
        if (!got.how.ok()) return done(failed(got.how));
        if (const auto there = number_in(got))
            return done({.is = *there == number ? verdict::yes : verdict::again, .session = *there, .sent = sent});
        // No such row, so nothing is locked, not even a gap: the isolation level is READ COMMITTED.
        return ask(says_.make_row, {what->name}, [this, done = std::move(done)](const sql::result& made) mutable {
            // That somebody has locked the row says that it is there.
            if (!made.how.ok() && made.how.is != kind::conflict) return done(failed(made.how));
            done({.is = verdict::again});
        });
    }
    if (got.how.ok()) {
        if (got.affected == 0) return done({.is = verdict::not_free});
        note_token(what->where, number, got.inserted);
        return done({.is = verdict::yes, .counter = got.inserted, .session = number, .sent = sent});
    }
    if (cut_off(got.how)) return done(failed(got.how));
    // The lock may have been taken before the statement failed, and a second time would have to be freed twice.
    taken how = failed(got.how);
    if (got.how.is == kind::conflict) how.is = verdict::again;
    run_free(what, [how = std::move(how), done = std::move(done)]() mutable { done(std::move(how)); });
}

void bound_sessions::stamp(const action& what, unique_function<void(taken)> done) {
    ask(says_.stamp, {what.name, what.session, context_.host, context_.pid, what.label},
        [this, where = what.where, session = what.session, done = std::move(done)](const sql::result& got) mutable {
            if (!got.how.ok()) return done(failed(got.how));
            note_token(where, session, got.inserted);
            done({.is = verdict::yes, .counter = got.inserted});
        });
}

// A KILL QUERY that comes after the wait has ended hits the next statement. So the connection is not used before it was answered,
// and what is run then frees the lock and may be repeated.
void bound_sessions::stop(place where) {
    std::int64_t number = 0;
    std::uint64_t which = 0;
    {
        const std::scoped_lock guard{mutex_};
        session& one = all_.at(where);
        if (!one.waiting) return;
        number = one.number;
        which = one.stopped = one.waits;
    }
    const auto drop = [this, where, which] {
        std::shared_ptr<sql::connection> line;
        {
            const std::scoped_lock guard{mutex_};
            const session& one = all_.at(where);
            if ((!one.waiting && one.stopped == 0) || one.waits != which) return;
            line = one.line;
        }
        line->drop();
        stop_answered(where, which);
    };
    if (number == 0) return drop();
    context_.clock.at(context_.clock.now() + stop_time, [weak = weak_from_this(), drop] {
        if (const auto self = weak.lock()) drop();
    });
    shared_->run(says_.stop, {number}, [this, where, which, drop](const sql::result& got) {
        if (!got.how.ok()) drop();
        stop_answered(where, which);
    });
}

void bound_sessions::stop_answered(place where, std::uint64_t which) {
    unique_function<void()> next;
    {
        const std::scoped_lock guard{mutex_};
        session& one = all_.at(where);
        if (one.stopped != which) return;
        one.stopped = 0;
        next = std::move(one.when_stopped);
    }
    if (next) next();
}

// ---- freeing it

void bound_sessions::free(action what, unique_function<void()> done) {
    run_free(std::make_shared<action>(std::move(what)), std::move(done));
}

void bound_sessions::run_free(const shared_action& what, unique_function<void()> done) {
    const auto bound = [this, what] {
        return settings_.by == strategy::get_lock ? sql::values{what->name} : sql::values{};
    };
    line_of(what->where)
        ->run(says_.free, bound(), [this, what, bound, done = std::move(done)](const sql::result& got) mutable {
            // A KILL QUERY that came late ends the next statement, which is this one.
            if (got.how.is == kind::conflict) {
                line_of(what->where)->run(says_.free, bound(), [done = std::move(done)](const sql::result&) mutable {
                    done();
                });
                return;
            }
            if (!got.how.ok() && !cut_off(got.how)) line_of(what->where)->drop();
            done();
            sweep(what->where);
            forget_dead(what->counter);
        });
}

void bound_sessions::note_token(place where, std::int64_t number, std::uint64_t token) {
    const std::scoped_lock guard{mutex_};
    session& one = all_.at(where);
    if (one.number != number) return;
    if (one.oldest == 0) one.oldest = token;
    one.newest = token;
}

// Records of holds that are over, but for the latest.
void bound_sessions::sweep(place where) {
    sql::values bound;
    {
        const std::scoped_lock guard{mutex_};
        session& one = all_.at(where);
        const spi::time_point now = context_.clock.now();
        if (one.number == 0 || one.oldest == one.newest || now - one.swept < between_sweeps) return;
        one.swept = now;
        bound = {static_cast<std::int64_t>(one.oldest), static_cast<std::int64_t>(one.newest - 1), one.number};
        one.oldest = one.newest;
    }
    shared_->run(says_.forget_range, std::move(bound), [](const sql::result&) {});
}

// Records that were left behind with their connections, of any client.
void bound_sessions::forget_dead(std::uint64_t before) {
    {
        const std::scoped_lock guard{mutex_};
        const spi::time_point now = context_.clock.now();
        if (before == 0 || (forgot_ && now - *forgot_ < between_looks_for_the_dead)) return;
        forgot_ = now;
    }
    shared_->run(says_.forget_dead, {static_cast<std::int64_t>(before)}, [](const sql::result&) {});
}

// ---- others

void bound_sessions::ping(place where, unique_function<void(std::optional<std::int64_t>)> done) {
    line_of(where)->run(says_.who, {}, [this, where, done = std::move(done)](const sql::result& got) mutable {
        if (got.how.is != kind::conflict) return done(number_in(got));
        line_of(where)->run(says_.who, {},
                            [done = std::move(done)](const sql::result& again) mutable { done(number_in(again)); });
    });
}

void bound_sessions::ask(const sql::statement& what, sql::values bound, unique_function<void(sql::result)> done) {
    sql::values again = bound;
    shared_->run(what, std::move(bound),
                 [this, &what, again = std::move(again), done = std::move(done)](sql::result got) mutable {
                     if (got.how.is != kind::no_schema) return done(std::move(got));
                     make_schema(0, [this, &what, again = std::move(again),
                                     done = std::move(done)](const sql::outcome& made) mutable {
                         if (!made.ok()) return done({.how = made});
                         shared_->run(what, std::move(again), std::move(done));
                     });
                 });
}

void bound_sessions::make_schema(std::size_t next, unique_function<void(const sql::outcome&)> done) {
    if (next == says_.schema.size()) return done({});
    shared_->run(says_.schema[next], {}, [this, next, done = std::move(done)](const sql::result& got) mutable {
        if (!got.how.ok()) return done(got.how);
        make_schema(next + 1, std::move(done));
    });
}

void bound_sessions::close() noexcept {
    std::vector<std::shared_ptr<sql::connection>> lines{shared_};
    {
        const std::scoped_lock guard{mutex_};
        for (const session& one : all_)
            if (one.line) lines.push_back(one.line);
    }
    for (const auto& line : lines) line->close();
}

}  // namespace mortise::inline v0::stores::mysql
