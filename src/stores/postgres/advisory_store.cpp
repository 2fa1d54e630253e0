#include "stores/postgres/advisory_store.hpp"

#include "base/renewal_replies.hpp"
#include "stores/postgres/advisory_sessions.hpp"
#include "stores/postgres/advisory_table.hpp"
#include "stores/postgres/diagnostics.hpp"
#include "stores/postgres/promises.hpp"
#include "stores/sql/pending_replies.hpp"
#include "stores/sql/reading_callers.hpp"

#include <mortise/error.hpp>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <utility>

namespace mortise::inline v0::stores::postgres {
namespace {

constexpr std::chrono::milliseconds shortest_poll{20};
constexpr std::chrono::milliseconds longest_poll{200};

// Carries out what the table decides. Owned by a shared_ptr: timers may outlive it.
class advisory_claims : public std::enable_shared_from_this<advisory_claims> {
public:
    advisory_claims(const settings& settings, const spi::context& context, spi::duration longest_lease)
        : settings_(settings),
          context_(context),
          sockets_(context.clock),
          table_(settings_.wait_connections, longest_lease) {}

    void claim(const spi::claim_request&, spi::reply<spi::claim_answer>);
    void renew(std::span<const spi::renewal>, spi::reply<std::vector<spi::renewal_answer>>);
    void release(std::string_view name, const claim_id&, spi::reply<spi::release_answer>);
    void check(spi::reply<std::vector<finding>> done) {
        sessions_->ask(facts_statement(), [this, done = std::move(done)](const sql::result& got) mutable {
            done(findings_of(settings_, got));
        });
    }
    sql::reading_callers& callers() { return callers_; }
    void close() noexcept {
        if (closed_.exchange(true)) return;
        sockets_.stop();
        sessions_->close();
        sql::pending_replies unanswered;
        const std::scoped_lock guard{mutex_};
        std::swap(unanswered, replies_);
    }

private:
    using action = advisory_table::action;
    using lock_result = advisory_table::lock_result;

    // Lets the table decide, and carries that out with no lock held.
    template <class Decide>
    void act(Decide decide);
    void carry_out(action& now);
    void expire_later();

    const settings settings_;
    const spi::context context_;
    net::poller sockets_;
    std::atomic<bool> closed_{false};

    std::mutex mutex_;
    advisory_table table_;
    sql::pending_replies replies_;
    std::minstd_rand dice_{std::random_device{}()};
    std::optional<spi::time_point> expires_{};  // when the timer looks for ended leases

    sql::reading_callers callers_;
    const std::shared_ptr<advisory_sessions> sessions_ =
        std::make_shared<advisory_sessions>(settings_, context_, sockets_, [this](advisory_table::session which) {
            act([&](spi::time_point now) { return table_.session_lost(which, now); });
        });
};

template <class Decide>
void advisory_claims::act(Decide decide) {
    advisory_table::actions todo;
    {
        const std::scoped_lock guard{mutex_};
        todo = decide(context_.clock.now());
    }
    for (const bool to_the_core : {false, true})
        for (action& one : todo)
            if ((one.what >= action::kind::answer) == to_the_core && !closed_) carry_out(one);
}

void advisory_claims::carry_out(action& now) {
    const claim_id id = now.id;
    switch (now.what) {
        case action::kind::try_lock:
            return sessions_->try_lock(now.name, [this, id](const lock_result& how) {
                act([&](spi::time_point at) { return table_.tried(id, how, at); });
            });
        case action::kind::wait:
            return sessions_->wait(now.where, now.name, [this, id](const lock_result& how) {
                act([&](spi::time_point at) { return table_.waited(id, how, at); });
            });
        case action::kind::cancel:
            return sessions_->cancel(now.where);
        case action::kind::clear:
            return sessions_->clear(now.where,
                                    [this, id] { act([&](spi::time_point at) { return table_.cleared(id, at); }); });
        case action::kind::unlock:
            return sessions_->unlock(now.where, now.pid, now.name, [this, id](std::optional<bool> was_locked) {
                act([&](spi::time_point at) { return table_.unlocked(id, was_locked, at); });
            });
        case action::kind::confirm:
            return sessions_->ping(
                now.where, [this, id, pid = now.pid, sent = context_.clock.now()](std::optional<std::int64_t> is) {
                    act([&](spi::time_point at) { return table_.confirmed(id, is == pid, sent, at); });
                });
        case action::kind::look:
            return sessions_->look(now.name, [this, id](std::optional<bool> somebody) {
                act([&](spi::time_point at) { return table_.looked(id, somebody, at); });
            });
        case action::kind::poll_later: {
            std::uniform_int_distribution<std::int64_t> pause{shortest_poll.count(), longest_poll.count()};
            const std::chrono::milliseconds in{[&] {
                const std::scoped_lock guard{mutex_};
                return pause(dice_);
            }()};
            context_.clock.at(context_.clock.now() + in, [weak = weak_from_this(), id] {
                const auto self = weak.lock();
                if (self && !self->closed_) self->act([&](spi::time_point at) { return self->table_.poll(id, at); });
            });
            return;
        }
        case action::kind::answer: {
            if (now.answer_is.is == spi::claim_answer::verdict::granted) expire_later();
            std::vector<spi::reply<spi::claim_answer>> whom;
            {
                const std::scoped_lock guard{mutex_};
                whom = replies_.take_claims(id);
            }
            for (auto& done : whom) done(now.answer_is);
            return;
        }
        case action::kind::granted:
            expire_later();
            return context_.events.granted(now.name, id, now.answer_is.grant);
        case action::kind::lost:
            return context_.events.lost(now.name, id);
        case action::kind::released: {
            std::vector<spi::reply<spi::release_answer>> whom;
            {
                const std::scoped_lock guard{mutex_};
                whom = replies_.take_releases(id);
            }
            for (auto& done : whom) done(now.released_as);
            return;
        }
    }
}

void advisory_claims::claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) {
    act([&](spi::time_point now) {
        replies_.add(wanted.id, std::move(done));
        return table_.ask(wanted, now);
    });
}

void advisory_claims::release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) {
    act([&](spi::time_point now) {
        replies_.add(id, std::move(done));
        return table_.release(name, id, now);
    });
}

// One statement for each session that holds any of them.
void advisory_claims::renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) {
    struct item {
        std::size_t place;
        claim_id id;
        spi::duration lease;
    };
    const auto replies = std::make_shared<base::renewal_replies>(due.size(), std::move(done));
    std::map<advisory_table::session, std::vector<item>> by_session;
    std::vector<std::size_t> gone;
    {
        const std::scoped_lock guard{mutex_};
        for (std::size_t i = 0; i < due.size(); ++i) {
            if (const auto hold = table_.held(due[i].id))
                by_session[hold->where].push_back({i, due[i].id, due[i].lease});
            else
                gone.push_back(i);
        }
    }
    if (!gone.empty()) replies->set(gone, spi::renewal_answer::lost);
    for (auto& [where, items] : by_session)
        sessions_->ping(where, [this, replies, items = std::move(items),
                                sent = context_.clock.now()](std::optional<std::int64_t> pid) {
            std::vector<std::size_t> places;
            std::vector<spi::renewal_answer> answers;
            {
                const std::scoped_lock guard{mutex_};
                for (const item& one : items) {
                    using enum spi::renewal_answer;
                    places.push_back(one.place);
                    if (!pid)
                        answers.push_back(table_.held(one.id) ? unknown : lost);
                    else
                        answers.push_back(table_.renewed(one.id, *pid, one.lease, sent) ? renewed : lost);
                }
            }
            if (!closed_) replies->set(places, answers);
        });
}

// A lease ends here if nobody renews it: the server knows sessions only. The timer is not moved when a lease is renewed or ends
// early; it then finds nothing, and looks again when the next one ends.
void advisory_claims::expire_later() {
    spi::time_point when;
    {
        const std::scoped_lock guard{mutex_};
        const auto next = table_.next_expiry();
        if (!next || (expires_ && *expires_ <= *next)) return;
        expires_ = when = *next;
    }
    context_.clock.at(when, [weak = weak_from_this(), when] {
        const auto self = weak.lock();
        if (!self || self->closed_) return;
        self->act([&](spi::time_point now) {
            if (self->expires_ == when) self->expires_.reset();
            return self->table_.expire(now);
        });
        self->expire_later();
    });
}

class advisory_store final : public spi::store {
public:
    advisory_store(const settings& settings, const spi::context& context)
        : settings_(settings),
          claims_(std::make_shared<advisory_claims>(settings_, context, *promises_.longest_lease)) {}
    ~advisory_store() override { claims_->close(); }

    const mortise::promises& promises() const noexcept override { return promises_; }
    void claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) override {
        claims_->claim(wanted, std::move(done));
    }
    void renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) override {
        claims_->renew(due, std::move(done));
    }
    void release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) override {
        claims_->release(name, id, std::move(done));
    }
    void list(spi::reply<spi::listing> done) override { done({.failed = errc::unsupported}); }
    void break_hold(const spi::break_request&, spi::reply<spi::break_answer> done) override {
        done(spi::break_answer::unsupported);  // the server knows no tokens
    }
    void check(spi::reply<std::vector<finding>> done) override { claims_->check(std::move(done)); }
    std::string schema() const override { return advisory_schema(settings_); }
    void will_sleep(bool whether) noexcept override { sql::reading_callers::will_sleep(whether); }
    void sleep(spi::sleeper& who) override { claims_->callers().sleep(who); }
    void wake(spi::sleeper& who) noexcept override { claims_->callers().wake(who); }
    void close() noexcept override { claims_->close(); }

private:
    const settings settings_;
    const mortise::promises promises_ = promises_of(settings_);
    const std::shared_ptr<advisory_claims> claims_;
};

}  // namespace

std::unique_ptr<spi::store> make_advisory_store(const settings& settings, const spi::context& context) {
    return std::make_unique<advisory_store>(settings, context);
}

}  // namespace mortise::inline v0::stores::postgres
