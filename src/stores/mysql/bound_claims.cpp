#include "stores/mysql/bound_claims.hpp"

#include "base/renewal_replies.hpp"
#include "base/told_span.hpp"

#include <mortise/error.hpp>

#include <utility>

namespace mortise::inline v0::stores::mysql {
namespace {

using action_kind = bound_table::action::kind;

constexpr std::chrono::milliseconds between_ticks{50};

std::string text_at(const sql::values& row, std::size_t column) {
    const auto* const text = std::get_if<std::string>(&sql::value_at(row, column));
    return text != nullptr ? *text : std::string{};
}

std::int64_t number_at(const sql::values& row, std::size_t column) {
    const auto* const number = std::get_if<std::int64_t>(&sql::value_at(row, column));
    return number != nullptr ? *number : 0;
}

// token, host, pid, label, microseconds
mortise::holder holder_in(const sql::values& row, std::size_t first) {
    return {.host = text_at(row, first + 1),
            .pid = number_at(row, first + 2),
            .label = text_at(row, first + 3),
            .held_for = base::told_span<std::chrono::microseconds>(number_at(row, first + 4)),
            .token = token::of(static_cast<std::uint64_t>(number_at(row, first)), 0)};
}

}  // namespace

bound_claims::bound_claims(const settings& settings, const spi::context& context, spi::duration longest_lease)
    : settings_(settings),
      context_(context),
      table_(settings.connections, longest_lease),
      sessions_(std::make_shared<bound_sessions>(
          settings_, context_, sockets_, [this](bound_table::place where, std::int64_t session) {
              then([&](spi::time_point now) { return table_.session_lost(where, session, now); });
          })) {}

template <class Event>
void bound_claims::then(Event event) {
    bound_table::actions todo;
    {
        const std::scoped_lock guard{mutex_};
        todo = event(context_.clock.now());
    }
    run(std::move(todo));
}

void bound_claims::claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) {
    bound_table::actions todo;
    {
        const std::scoped_lock guard{mutex_};
        replies_.add(wanted.id, std::move(done));
        todo = table_.ask(wanted, context_.clock.now());
    }
    run(std::move(todo));
    tick_later();
}

void bound_claims::release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) {
    bound_table::actions todo;
    {
        const std::scoped_lock guard{mutex_};
        replies_.add(id, std::move(done));
        todo = table_.release(name, id, context_.clock.now());
    }
    run(std::move(todo));
}

void bound_claims::renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) {
    const auto replies = std::make_shared<base::renewal_replies>(due.size(), std::move(done));
    for (std::size_t i = 0; i < due.size(); ++i) {
        std::optional<bound_table::hold> held;
        {
            const std::scoped_lock guard{mutex_};
            held = table_.held(due[i].id);
        }
        const auto answer = [replies, i](spi::renewal_answer is) { replies->set(std::vector<std::size_t>{i}, is); };
        if (!held) {
            answer(spi::renewal_answer::lost);
            continue;
        }
        const spi::time_point sent = context_.clock.now();
        sessions_->ping(held->where, [this, answer, sent, id = due[i].id,
                                      lease = due[i].lease](std::optional<std::int64_t> session) {
            bool ours = false;
            {
                const std::scoped_lock guard{mutex_};
                ours = session && table_.renewed(id, *session, lease, sent);
            }
            // The lock went with its connection.
            answer(ours ? spi::renewal_answer::renewed : spi::renewal_answer::lost);
        });
    }
}

// ---- what the table wants done

void bound_claims::run(bound_table::actions todo) {
    for (bound_table::action& one : todo) run(one);
}

void bound_claims::run(bound_table::action& one) {
    using place = bound_table::place;
    const claim_id id = one.id;
    switch (one.what) {
        case action_kind::take:
            sql::reading_callers::about_to_ask(id, sessions_->line_of(one.where));
            return sessions_->take(std::move(one), [this, id](const bound_table::taken& how) {
                then([&](spi::time_point now) { return table_.took(id, how, now); });
            });
        case action_kind::stop:
            return sessions_->stop(one.where);
        case action_kind::stamp:
            sql::reading_callers::about_to_ask(id, sessions_->shared_line());
            return sessions_->stamp(one, [this, id](const bound_table::taken& how) {
                then([&](spi::time_point) { return table_.stamped(id, how); });
            });
        case action_kind::confirm: {
            const spi::time_point sent = context_.clock.now();
            const auto check = [this, id, sent, was = one.session](std::optional<std::int64_t> session) {
                then([&](spi::time_point now) { return table_.confirmed(id, session == was, sent, now); });
            };
            sql::reading_callers::about_to_ask(id, sessions_->line_of(one.where));
            return sessions_->ping(place{one.where}, check);
        }
        case action_kind::free:
            sql::reading_callers::about_to_ask(id, sessions_->line_of(one.where));
            return sessions_->free(std::move(one),
                                   [this, id] { then([&](spi::time_point now) { return table_.freed(id, now); }); });
        case action_kind::look:
            return look(one);
        case action_kind::granted:
            return context_.events.granted(one.name, id, one.answer_is.grant);
        case action_kind::lost:
            return context_.events.lost(one.name, id);
        case action_kind::answer: {
            std::vector<spi::reply<spi::claim_answer>> to;
            {
                const std::scoped_lock guard{mutex_};
                to = replies_.take_claims(id);
            }
            for (auto& done : to) done(one.answer_is);
            return;
        }
        case action_kind::released: {
            std::vector<spi::reply<spi::release_answer>> to;
            {
                const std::scoped_lock guard{mutex_};
                to = replies_.take_releases(id);
            }
            for (auto& done : to) done(one.released_as);
            return;
        }
    }
}

void bound_claims::look(const bound_table::action& one) {
    sessions_->ask(sessions_->statements().holder, {one.name}, [this, id = one.id](const sql::result& got) {
        spi::standing who;
        std::optional<bool> somebody;
        if (got.how.ok()) {
            somebody = !got.rows.empty();
            if (*somebody) who.holder = holder_in(got.rows[0], 0);
        }
        then([&](spi::time_point now) { return table_.looked(id, somebody, who, now); });
    });
}

void bound_claims::tick_later() {
    {
        const std::scoped_lock guard{mutex_};
        if (ticking_ || !table_.ticks()) return;
        ticking_ = true;
    }
    context_.clock.at(context_.clock.now() + between_ticks, [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (!self || self->closed_.load()) return;
        self->then([&](spi::time_point now) {
            self->ticking_ = false;
            return self->table_.tick(now);
        });
        self->tick_later();
    });
}

// ---- who holds what

void bound_claims::list(spi::reply<spi::listing> done) {
    sessions_->ask(sessions_->statements().list, {}, [done = std::move(done)](const sql::result& got) mutable {
        spi::listing all;
        if (!got.how.ok()) {
            all.failed = errc::unreachable;
            all.detail = got.how.detail;
        }
        for (const sql::values& row : got.rows) {
            std::string name = text_at(row, 0);
            if (!all.holds.empty() && all.holds.back().name == name) continue;  // the record of an earlier hold
            all.holds.push_back({.name = std::move(name), .holder = holder_in(row, 1)});
        }
        done(std::move(all));
    });
}

// The server frees the lock when the connection's thread has noticed that it was killed, which takes a moment. Without its record
// it cannot be broken a second time meanwhile.
void bound_claims::break_hold(const spi::break_request& which, spi::reply<spi::break_answer> done) {
    using enum spi::break_answer;
    const std::string name{which.name};
    const auto token = static_cast<std::int64_t>(which.counter);
    sessions_->ask(sessions_->statements().find, {token, name, name},
                   [this, token, done = std::move(done)](const sql::result& got) mutable {
                       if (!got.how.ok()) return done(unknown);
                       if (got.rows.empty()) return done(not_held);
                       const std::int64_t session = number_at(got.rows[0], 0);
                       sessions_->ask(
                           sessions_->statements().kill, {session},
                           [this, token, session, done = std::move(done)](const sql::result& killed) mutable {
                               if (!killed.how.ok()) return done(unknown);
                               sessions_->ask(sessions_->statements().forget_range, {token, token, session},
                                              [done = std::move(done)](const sql::result&) mutable { done(broken); });
                           });
                   });
}

void bound_claims::close() noexcept {
    if (closed_.exchange(true)) return;
    sockets_.stop();
    sessions_->close();
    sql::pending_replies unanswered;
    const std::scoped_lock guard{mutex_};
    std::swap(unanswered, replies_);
}

}  // namespace mortise::inline v0::stores::mysql
