// Calls coming in: start, join, leave, and who stands in which line. How the store is asked is in asking.cpp, how grants
// are kept alive in keeping.cpp, given back in leaving.cpp, and told of in telling.cpp.
#include "core/engine.hpp"

#include "base/limits.hpp"
#include "base/process.hpp"
#include "base/text.hpp"
#include "core/farewell.hpp"
#include "core/io_clock.hpp"
#include "core/notifier_thread.hpp"
#include "core/watchdog.hpp"

#include <mortise/duration.hpp>
#include <mortise/error.hpp>

#include <algorithm>

#include <unistd.h>

namespace mortise::inline v0::core {
namespace {

client_options checked(client_options options) {
    base::check(options);
    if (options.label.empty()) options.label = base::program_name();
    return options;
}

// What a store that can be reached does not leave a request without.
constexpr spi::duration silence = std::chrono::milliseconds{100};

// As the kernel and its tools show it.
std::int64_t this_thread_number() noexcept {
    thread_local std::pair<std::uint64_t, std::int64_t> known{~std::uint64_t{0}, 0};
    if (const auto now = base::fork_generation(); known.first != now) known = {now, ::gettid()};
    return known.second;
}

}  // namespace

std::uint32_t this_thread_wait_slot() noexcept {
    thread_local const auto mine = static_cast<std::uint32_t>(claim_id::random().bits[0]) | 1u;
    return mine;
}

std::shared_ptr<engine> engine::make(const spi::store_factory& store, spi::world around, client_options options,
                                     std::string shown_as) {
    auto made =
        std::make_shared<engine>(pass{}, store, std::move(around), checked(std::move(options)), std::move(shown_as));
    made->watchdog_ = std::make_shared<watchdog>(made->clock_, [weak = made->weak_from_this()](const auto& due) {
        if (const auto self = weak.lock()) self->round(due);
    });
    return made;
}

engine::engine(pass, const spi::store_factory& store, spi::world around, client_options options, std::string shown_as)
    : options_(std::move(options)),
      label_(std::make_shared<const std::string>(options_.label.value())),
      shown_as_(std::move(shown_as)),
      host_(base::host_name()),
      generation_(base::fork_generation()),
      clock_(std::move(around.clock)),
      notifier_(std::move(around.notifier)) {
    if (!clock_) {
        auto own = std::make_shared<io_clock>();
        own_clock_ = own.get();
        clock_ = std::move(own);
    }
    if (!notifier_) {
        auto own = std::make_shared<notifier_thread>();
        own_notifier_ = own.get();
        notifier_ = std::move(own);
    }
    store_ = store(spi::context{*clock_, *this, host_, base::process_id(), options_.strict});
    if (options_.require_token && !store_->promises().tokens)
        throw error(errc::no_token, "store " + shown_as_ + " has no fencing tokens, and require_token demands them");
}

engine::~engine() = default;

bool engine::forked() const noexcept {
    return generation_ != base::fork_generation();
}

refusal engine::refuse(std::error_code why, std::string_view name, const std::string& what) const {
    return {.reason = why,
            .detail = "lock " + base::quoted(name) + " (" + shown_as_ + "): " + (what.empty() ? why.message() : what)};
}

void engine::check(const claim& wanted) const {
    base::check(wanted);
    if (const auto no = not_promised(wanted)) throw error(no->reason, no->describe());
}

std::optional<refusal> engine::not_promised(const claim& wanted) const {
    const mortise::promises& can = store_->promises();
    const auto cannot = [&](const std::string& what) {
        return refuse(errc::unsupported, wanted.name, "the " + can.store + " store does not promise " + what);
    };
    const claim_options& o = wanted.options;
    if (o.require_token && !can.tokens)
        return refuse(errc::no_token, wanted.name, "the store has no fencing tokens, and require_token demands them");
    if (o.order == order::fifo && !can.fifo) return cannot("first come, first served (order::fifo); use order::any");
    if (o.kept_by == kept_by::lease && !can.detached)
        return cannot("detached claims (kept_by::lease); use kept_by::process");
    if (o.lease && !can.leases) return cannot("leases; leave claim_options::lease unset");
    if (durability_of(o) > 0 && !can.replicas) return cannot("to wait for replicas (durability::wait)");
    if (wanted.capacity > can.most_capacity) return cannot("a capacity of " + std::to_string(wanted.capacity));
    const auto lease = lease_of(o);
    if (o.renew == renew::off && lease && can.longest_lease && *lease > *can.longest_lease)
        return cannot("a lease of more than " + base::readable(*can.longest_lease) + " without renewal (renew::off)");
    if (lease && margin_of(*lease) > *lease / 2)
        return refuse(errc::invalid_option, wanted.name,
                      "of a lease of " + base::readable(*lease) + " the margin and drift of the client take " +
                          base::readable(margin_of(*lease)) + "; use a longer lease or a smaller margin");
    return std::nullopt;
}

std::optional<spi::duration> engine::lease_of(const claim_options& o) const {
    if (o.lease) return o.lease;
    if (options_.lease) return options_.lease;
    if (o.kept_by == kept_by::lease && !store_->promises().default_lease) return std::chrono::seconds{30};
    return store_->promises().default_lease;
}

unsigned engine::durability_of(const claim_options& o) const {
    return o.durability.value_or(options_.durability).replicas;
}

spi::duration engine::margin_of(spi::duration lease) const {
    return options_.margin + std::chrono::duration_cast<spi::duration>(lease * options_.drift);
}

claim_terms engine::terms_of(claim& wanted) const {
    claim_options& o = wanted.options;
    claim_terms terms;
    terms.name = wanted.name.take();
    terms.name_hash = name_key(terms.name).hash;
    terms.label = o.label.empty() ? label_ : std::make_shared<const std::string>(o.label.take());
    terms.lease = lease_of(o);
    terms.capacity = wanted.capacity;
    terms.weight = wanted.weight;
    terms.replicas = durability_of(o);
    terms.order = o.order;
    terms.lazy = o.release == release_mode::lazy;
    terms.renewed = o.renew == renew::on;
    terms.detached = o.kept_by == kept_by::lease;
    terms.shareable = options_.hand_over_turns > 1 && o.hand_over == hand_over::on && o.order == order::any &&
                      wanted.weight == wanted.capacity && terms.renewed && !terms.detached;
    return terms;
}

void engine::shard::insert(const std::shared_ptr<cohort>& c) {
    if (c->terms.shareable) {
        joinable.insert(c);
    } else {
        solo.insert(c);
    }
}

void engine::shard::erase(const cohort& c) {
    if (c.terms.shareable) {
        joinable.erase(joinable.find(name_key(c.terms)));
    } else {
        solo.erase(solo.find(c.id));
    }
}

std::shared_ptr<cohort> engine::shard::find(const name_key& name, const claim_id& id) const {
    if (const auto it = joinable.find(name); it != joinable.end() && (*it)->id == id) return *it;
    const auto it = solo.find(id);
    return it == solo.end() ? nullptr : *it;
}

std::vector<std::shared_ptr<cohort>> engine::shard::all() const {
    std::vector<std::shared_ptr<cohort>> both(joinable.begin(), joinable.end());
    both.insert(both.end(), solo.begin(), solo.end());
    return both;
}

void engine::start(claim wanted, unique_function<void(attempt)> done, std::uint32_t wait_slot,
                   const std::shared_ptr<claimant>& instead_of, const called_by& by) {
    if (forked()) return done(refuse(errc::forked, wanted.name));
    base::check(wanted);
    if (auto no = not_promised(wanted)) {
        if (no->reason == errc::invalid_option) throw error(no->reason, no->describe());
        return done(std::move(*no));
    }
    try {
        if (!awake_.load(std::memory_order_relaxed)) clock_->at(clock_->now(), [] {});  // starts the io thread
        awake_.store(true, std::memory_order_relaxed);
    } catch (const error& e) {
        return done(refusal{.reason = e.code(), .detail = e.what()});
    }

    auto who = std::make_shared<claimant>();
    who->since = clock_->now();
    who->waiting = std::make_unique<claimant::wait>();
    claimant::wait& w = *who->waiting;
    w.done = std::move(done);
    w.wait_slot = wait_slot;
    if (by.who != 0) {
        w.owner = by.who;
        w.frames = by.frames;
        w.thread = this_thread_number();
    }
    if (const auto wait = wanted.options.wait) {
        w.no_wait = *wait == spi::duration::zero();
        if (!w.no_wait && *wait < detail::for_ever) w.deadline = who->since + *wait;
    }
    std::stop_token stop = wanted.options.stop.take();
    claim_terms terms = terms_of(wanted);
    if (instead_of) terms.shareable = false;
    const std::string name = terms.name;
    name_key key{terms};
    key.name = name;  // the terms move on
    emit(event_kind::claimed, name);

    // Before anybody else knows of the call; a stop that arrives first is noted and seen below.
    if (stop.stop_possible())
        w.on_stop.emplace(std::move(stop), [self = weak_from_this(), caller = std::weak_ptr(who), name = name] {
            const auto home = self.lock();
            const auto waiting = caller.lock();
            const std::string of = name;  // the answer destroys what was captured
            if (home && waiting) home->leave(waiting, of, errc::cancelled);
        });

    errands todo;
    todo.now = who->since;
    std::error_code too_late;
    {
        shard& s = shard_of(key);
        std::scoped_lock guard{s.mutex};
        const auto joinable = terms.shareable ? s.joinable.find(key) : s.joinable.end();
        if (closed_.load() || w.stopped) {
            who->is = claimant::phase::over;
            too_late = closed_.load() ? errc::closed : errc::cancelled;
        } else if (instead_of && (too_late = not_replaceable(*instead_of))) {
            who->is = claimant::phase::over;
        } else if (joinable != s.joinable.end() && (*joinable)->terms.interchangeable(terms)) {
            join(*joinable, who, todo);
        } else {
            if (joinable != s.joinable.end()) terms.shareable = false;  // other options: on its own
            auto c = std::make_shared<core::cohort>(shared_from_this(), std::move(terms));
            if (instead_of) {
                c->instead_of = instead_of->cohort;
                c->instead_of->being_replaced = true;
            }
            who->cohort = c;
            w.place = c->line.insert(c->line.end(), who);
            s.insert(c);
            todo.ask = std::move(c);
        }
    }
    if (too_late) {
        emit(event_kind::refused, name, {}, too_late);
        return answer(who, refuse(too_late, name));
    }
    run(todo);
    settle_down(who, key);
}

attempt engine::acquire(claim wanted, const called_by& by, const std::shared_ptr<claimant>& instead_of) {
    // Before the store is touched: its mutexes may be taken for ever by threads of the parent.
    if (forked()) return refuse(errc::forked, wanted.name);
    struct caller : spi::sleeper {
        std::optional<attempt> result;
    };
    auto mine = std::make_shared<caller>();  // shared: whoever wakes it may be the last to look
    mine->wait_slot = this_thread_wait_slot();
    const blocking_call blocks{*store_};
    start(
        std::move(wanted),
        [this, mine](attempt result) {
            mine->result.emplace(std::move(result));
            store_->wake(*mine);
        },
        mine->wait_slot, instead_of, by);
    if (by.who != 0 && mine->is.load() == spi::sleeper::awake) look_for_circles_later();
    store_->sleep(*mine);
    return std::move(*mine->result);
}

// A call that is still waiting after the store was asked gets its deadline watched.
void engine::settle_down(const std::shared_ptr<claimant>& who, const name_key& key) {
    if (who->is.load() != claimant::phase::waiting) return;
    std::scoped_lock guard{shard_of(key).mutex};
    if (who->is.load() != claimant::phase::waiting || who->waiting->deadline == spi::time_point::max()) return;
    who->waiting->timer = clock_->at(
        who->waiting->deadline, [self = weak_from_this(), caller = std::weak_ptr(who), name = std::string(key.name)] {
            const auto home = self.lock();
            const auto waiting = caller.lock();
            if (home && waiting) home->leave(waiting, name, errc::timed_out);
        });
}

// A waiting call gives up: its time is over, or it was cancelled.
void engine::leave(const std::shared_ptr<claimant>& who, const std::string& name, errc why, const std::string& what) {
    errands todo;
    {
        shard& s = shard_of(name_key(name));
        std::scoped_lock guard{s.mutex};
        if (who->is.load() != claimant::phase::waiting) return;
        if (!who->cohort) {  // not in line yet: start() will see the mark
            who->waiting->stopped = true;
            return;
        }
        const std::shared_ptr<core::cohort> c = cohort_of(s, *who);
        if (who->waiting->leaves_for != errc{}) return;
        std::optional<std::size_t> ahead = 0;  // not counted in a crowd that leaves all at once
        for (auto at = c->line.begin(); ahead && at != who->waiting->place; ++at)
            ahead = *ahead < 1000 ? std::optional{*ahead + 1} : std::nullopt;
        // A silent store is told apart from one that is slower than a short wait, and from a thread of ours that has
        // not got round to asking it.
        const bool unheard = why == errc::timed_out && c->asked && !c->asked->standing && !c->calling &&
                             clock_->now() - std::max(c->asked->failing_since, who->since) >= silence;
        if (c->instead_of && !unheard) {
            // The store may have granted it just now, and ended what it replaces. It is asked, not told.
            who->waiting->leaves_for = why;
            who->waiting->leaves_because = what;
            who->waiting->no_wait = true;
            todo.ask = c;
        } else {
            refusal no = in_the_way(*c, unheard ? errc::unreachable : why, ahead);
            const bool held_up = why == errc::timed_out && c->asked && !c->asked->trouble.empty();
            const std::string because = !what.empty() ? what
                                        : unheard     ? silence_of(*c)
                                        : held_up     ? c->asked->trouble
                                                      : std::string{};
            if (!because.empty()) no.detail = refuse(no.reason, name, because).detail;
            todo.refused.emplace_back(who, std::move(no));
            who->is = claimant::phase::over;
            c->line.erase(who->waiting->place);
            if (c->line.empty() && c->is != cohort::state::held) {  // nobody wants it any more
                todo.goodbye = goodbye(*c, clock_->now());
                end(c);
            }
        }
    }
    run(todo);
}

// The cohort in whose line the call stands now: the one it joined, or the one that took over the line.
const std::shared_ptr<cohort>& engine::cohort_of(const shard& s, const claimant& who) {
    if (who.cohort->is != cohort::state::ended) return who.cohort;
    return *s.joinable.find(name_key(who.cohort->terms));
}

void engine::join(const std::shared_ptr<cohort>& c, const std::shared_ptr<claimant>& who, errands& todo) {
    who->cohort = c;
    if (who->waiting->no_wait) {
        who->is = claimant::phase::over;
        todo.refused.emplace_back(who, in_the_way(*c, errc::busy, c->line.size()));
        return;
    }
    who->waiting->place = c->line.insert(c->line.end(), who);
    emit(event_kind::waited, c->terms.name);
}

// Who is in the way, as far as it is known here: this process, or whoever the store named.
refusal engine::in_the_way(const cohort& c, errc why, std::optional<std::size_t> ahead) const {
    refusal no = refuse(why, c.terms.name);
    if (c.is == cohort::state::held) {
        if (ahead) no.place = *ahead + 1;
        if (const auto holder = c.holder.lock())
            no.holder = mortise::holder{.host = host_,
                                        .pid = base::process_id(),
                                        .label = *c.terms.label,
                                        .held_for = clock_->now() - holder->since,
                                        .token = token::of(c.counter, c.turn)};
    } else if (c.asked && c.asked->standing) {
        no.holder = c.asked->standing->holder;
        if (no.holder && no.holder->held_for) *no.holder->held_for += clock_->now() - c.asked->heard;
        if (ahead) no.place = c.asked->standing->place.value_or(1) + *ahead;
    }
    return no;
}

void engine::run(errands& todo) {
    if (todo.goodbye) todo.goodbye->send();
    if (todo.granted) {
        const claimant& who = *todo.granted;
        emit(event_kind::granted, who.cohort->terms.name, token::of(who.cohort->counter, who.turn), {},
             todo.granted_after);
        answer(todo.granted, claimant::handle(todo.granted));
    }
    for (auto& [who, why] : todo.refused) {
        emit(event_kind::refused, who->cohort->terms.name, {}, why.reason, clock_->now() - who->since);
        answer(who, std::move(why));
    }
    if (todo.lost) notify([who = todo.lost] { who->cohort->home->tell_lost(*who); });
    if (todo.ask) ask(todo.ask, todo.now != spi::time_point{} ? todo.now : clock_->now());
}

// The phase has changed under the mutex, so nobody else touches what the call waited with.
void engine::answer(const std::shared_ptr<claimant>& who, attempt result) {
    auto waited = std::move(who->waiting);
    if (waited->timer != 0) clock_->cancel(waited->timer);
    auto done = std::move(waited->done);
    waited.reset();  // ends the stop_callback, which may be running: it finds the call answered
    done(std::move(result));
}

void engine::end(const std::shared_ptr<cohort>& c) {
    shard& s = shard_of(*c);
    c->is = cohort::state::ended;
    c->valid_until.store(boot_clock::time_point::min(), std::memory_order_release);
    watch(c, spi::time_point::max());
    s.erase(*c);
    if (c->instead_of) c->instead_of->being_replaced = false;
}

// What somebody still holds, and nobody else is about to replace.
std::error_code engine::not_replaceable(const claimant& who) {
    if (who.is.load() != claimant::phase::holding) return errc::not_owner;
    if (who.cohort->is != cohort::state::held) return errc::lost;
    return who.cohort->being_replaced ? make_error_code(errc::would_deadlock) : std::error_code{};
}

// Its place was taken by another claim of this client: it ends, and the store knows.
void engine::replace(const std::shared_ptr<cohort>& old, errands& todo) {
    old->being_replaced = false;
    if (old->is != cohort::state::held) return;
    if (const auto holder = old->holder.lock()) {
        holder->is = claimant::phase::over;
        holder->result = release_result::released;
    }
    old->holder.reset();
    end(old);
    succeed(old, todo);
}

// Whoever is still in line goes on with a new claim.
void engine::succeed(const std::shared_ptr<cohort>& c, errands& todo) {
    if (c->line.empty()) return;
    shard& s = shard_of(*c);
    auto next = std::make_shared<core::cohort>(shared_from_this(), c->terms);
    next->line.swap(c->line);
    if (!c->terms.shareable) next->line.front()->cohort = next;
    if (c->instead_of) {
        next->instead_of = c->instead_of;
        next->instead_of->being_replaced = true;
    }
    if (c->asked) {
        next->asked->failing_since = c->asked->failing_since;
    } else {
        next->asked->standing.emplace();  // it held, so the store was heard of: a timeout is a timeout
    }
    s.insert(next);
    todo.ask = std::move(next);
}

}  // namespace mortise::inline v0::core
