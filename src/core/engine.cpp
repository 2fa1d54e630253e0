// Calls coming in and going out: start, join, leave, release, close. How the store is asked is in asking.cpp, how grants
// are kept alive in keeping.cpp.
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

namespace mortise::inline v0::core {
namespace {

constexpr std::size_t most_unseen_events = 65536;

// Nothing that a user's callback throws gets out of it.
template <class Call>
void guarded(Call&& call) noexcept {
    try {
        call();
    } catch (...) {
    }
}

// For its owner a hold that had ended is never `released`, though the store may not have noticed yet.
release_result read(std::optional<spi::release_answer> said, bool was_lost) noexcept {
    if (!said) return release_result::unknown;
    switch (*said) {
        case spi::release_answer::released:
            return was_lost ? release_result::expired : release_result::released;
        case spi::release_answer::expired:
            return release_result::expired;
        case spi::release_answer::taken_over:
            return release_result::taken_over;
        case spi::release_answer::unknown:
            break;
    }
    return release_result::unknown;
}

client_options checked(client_options options) {
    base::check(options);
    if (options.label.empty()) options.label = base::program_name();
    return options;
}

}  // namespace

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
      label_(std::make_shared<const std::string>(options_.label)),
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
    store_ = store(spi::context{*clock_, *this, host_, base::process_id()});
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
    if (o.kept_by == kept_by::lease && !can.detached) return cannot("detached claims (kept_by::lease)");
    if (o.lease && !can.leases) return cannot("leases; leave claim_options::lease unset");
    if (wanted.capacity > can.most_capacity) return cannot("a capacity of " + std::to_string(wanted.capacity));
    const auto lease = lease_of(o);
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

spi::duration engine::margin_of(spi::duration lease) const {
    return options_.margin + std::chrono::duration_cast<spi::duration>(lease * options_.drift);
}

claim_terms engine::terms_of(claim& wanted) const {
    claim_options& o = wanted.options;
    claim_terms terms;
    terms.name = std::move(wanted.name);
    terms.name_hash = name_key(terms.name).hash;
    terms.label = o.label.empty() ? label_ : std::make_shared<const std::string>(std::move(o.label));
    terms.lease = lease_of(o);
    terms.capacity = wanted.capacity;
    terms.weight = wanted.weight;
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

void engine::start(claim wanted, unique_function<void(attempt)> done) {
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
    if (const auto wait = wanted.options.wait) {
        w.no_wait = *wait == spi::duration::zero();
        if (!w.no_wait && *wait < detail::for_ever) w.deadline = who->since + *wait;
    }
    std::stop_token stop = std::move(wanted.options.stop);
    claim_terms terms = terms_of(wanted);
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
    std::error_code too_late;
    {
        shard& s = shard_of(key);
        std::scoped_lock guard{s.mutex};
        const auto joinable = terms.shareable ? s.joinable.find(key) : s.joinable.end();
        if (closed_.load() || w.stopped) {
            who->is = claimant::phase::over;
            too_late = closed_.load() ? errc::closed : errc::cancelled;
        } else if (joinable != s.joinable.end() && (*joinable)->terms.interchangeable(terms)) {
            join(*joinable, who, todo);
        } else {
            if (joinable != s.joinable.end()) terms.shareable = false;  // other options: on its own
            auto c = std::make_shared<core::cohort>(shared_from_this(), std::move(terms));
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

attempt engine::acquire(claim wanted) {
    struct slot {
        std::optional<attempt> result;
        std::atomic<int> ready{0};  // an int is waited for by itself; of any other size, libstdc++ wakes a whole crowd
    };
    auto mine = std::make_shared<slot>();  // shared: whoever notifies may be the last to look
    start(std::move(wanted), [mine](attempt result) {
        mine->result.emplace(std::move(result));
        mine->ready.store(1, std::memory_order_release);
        mine->ready.notify_one();
    });
    mine->ready.wait(0, std::memory_order_acquire);
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
void engine::leave(const std::shared_ptr<claimant>& who, const std::string& name, errc why) {
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
        std::optional<std::size_t> ahead = 0;  // not counted in a crowd that leaves all at once
        for (auto at = c->line.begin(); ahead && at != who->waiting->place; ++at)
            ahead = *ahead < 1000 ? std::optional{*ahead + 1} : std::nullopt;
        const bool unheard = why == errc::timed_out && c->asked && !c->asked->standing;
        todo.refused.emplace_back(who, in_the_way(*c, unheard ? errc::unreachable : why, ahead));
        who->is = claimant::phase::over;
        c->line.erase(who->waiting->place);
        if (c->line.empty() && c->is != cohort::state::held) {  // nobody wants it any more
            todo.goodbye = goodbye(*c);
            end(c);
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
    if (todo.ask) ask(todo.ask);
}

// On the notifier. One call at a time: a release in between means that the rest is not begun.
void engine::tell_lost(claimant& who) {
    std::mutex& mutex = shard_of(*who.cohort).mutex;
    std::stop_source stop{std::nostopstate};
    {
        std::scoped_lock guard{mutex};
        if (!who.watched) return;
        stop = who.watched->stop;
    }
    stop.request_stop();
    while (true) {
        unique_function<void()> call;
        {
            std::scoped_lock guard{mutex};
            if (!who.watched || who.watched->calls.empty()) return;
            call = std::move(who.watched->calls.front());
            who.watched->calls.erase(who.watched->calls.begin());
        }
        guarded(call);
    }
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
    if (c->asked && c->asked->timer != 0) clock_->cancel(c->asked->timer);
    watchdog_->forget(*c);
    s.erase(*c);
}

// Whoever is still in line goes on with a new claim.
void engine::succeed(const std::shared_ptr<cohort>& c, errands& todo) {
    if (c->line.empty()) return;
    shard& s = shard_of(*c);
    auto next = std::make_shared<core::cohort>(shared_from_this(), c->terms);
    next->line.swap(c->line);
    if (!c->terms.shareable) next->line.front()->cohort = next;
    if (c->asked) {
        next->asked->failing_since = c->asked->failing_since;
    } else {
        next->asked->standing.emplace();  // it held, so the store was heard of: a timeout is a timeout
    }
    s.insert(next);
    todo.ask = std::move(next);
}

std::shared_ptr<farewell> engine::goodbye(const cohort& c) {
    const auto life = c.terms.lease.value_or(options_.patience);
    return std::make_shared<farewell>(shared_from_this(), c.terms.name, c.id, clock_->now() + life);
}

bool engine::may_pass_on(const cohort& c, spi::time_point now) const {
    if (!c.terms.shareable || c.line.empty() || c.turn + 1u >= options_.hand_over_turns) return false;
    if (c.lease.now_is() != lease::state::held) return false;
    const auto life = c.lease.life();
    return !life || c.lease.deadline() - now >= *life / 2;
}

void engine::pass_on(const std::shared_ptr<cohort>& c, spi::time_point now, errands& todo) {
    todo.granted = std::move(c->line.front());
    c->line.pop_front();
    claimant& next = *todo.granted;
    next.cohort = c;
    next.turn = c->turn;
    todo.granted_after = now - std::exchange(next.since, now);
    next.is = claimant::phase::holding;
    c->holder = todo.granted;
}

release_result engine::release(const std::shared_ptr<claimant>& who, std::error_code& ec) noexcept {
    ec.clear();
    if (forked()) {
        ec = errc::forked;
        return release_result::unknown;
    }
    errands todo;
    const auto c = who->cohort;
    shard& s = shard_of(*c);
    std::shared_ptr<farewell> asked;
    std::unique_ptr<claimant::watch> watched;  // the user's: destroyed after the lock
    bool was_lost = false;
    spi::duration held_for{};
    {
        std::scoped_lock guard{s.mutex};
        if (closed_.load() && who->is.exchange(claimant::phase::over) == claimant::phase::holding) who->closed = true;
        if (who->is.load() != claimant::phase::holding) {
            ec = who->closed ? errc::closed : who->releasing ? errc::busy : errc{};
            return who->result;
        }
        const spi::time_point now = clock_->now();
        who->is = claimant::phase::over;
        who->releasing = true;
        watched = std::move(who->watched);
        held_for = now - who->since;
        c->holder.reset();
        was_lost = c->is == cohort::state::ended || now >= c->lease.deadline();
        if (!was_lost && may_pass_on(*c, now)) {
            ++c->turn;
            pass_on(c, now, todo);
            who->result = release_result::released;
            who->releasing = false;
        } else {
            asked = todo.goodbye = goodbye(*c);
            if (c->is == cohort::state::held) {
                end(c);
                succeed(c, todo);
            }
        }
    }
    run(todo);
    release_result result = release_result::released;
    if (asked) {
        result = read(asked->wait(options_.release_wait), was_lost);
        if (result == release_result::unknown) ec = errc::unreachable;
        std::scoped_lock guard{s.mutex};
        who->result = result;
        who->releasing = false;
    }
    emit(event_kind::released, c->terms.name, token::of(c->counter, who->turn),
         was_lost ? make_error_code(errc::lost) : ec, held_for);
    return result;
}

release_result engine::release(std::string_view name, const claim_id& id, std::error_code& ec) noexcept {
    ec.clear();
    if (forked() || closed_.load()) {
        ec = forked() ? errc::forked : errc::closed;
        return release_result::unknown;
    }
    try {
        base::check_name(name);
    } catch (const error& e) {
        ec = e.code();
        return release_result::unknown;
    }
    // Ours, and alive: its owner is to know.
    std::shared_ptr<claimant> owner;
    {
        const name_key key{name};
        shard& s = shard_of(key);
        std::scoped_lock guard{s.mutex};
        if (const auto c = s.find(key, id)) owner = c->holder.lock();
    }
    if (owner) return release(owner, ec);
    const auto asked = std::make_shared<farewell>(shared_from_this(), std::string(name), id, clock_->now());
    asked->send();
    const release_result result = read(asked->wait(options_.release_wait), false);
    if (result == release_result::unknown) ec = errc::unreachable;
    return result;
}

void engine::let_go(const std::shared_ptr<claimant>& who) noexcept {
    if (!who->cohort->terms.detached) {
        std::error_code ignored;
        release(who, ignored);
        return;
    }
    const auto c = who->cohort;
    std::scoped_lock guard{shard_of(*c).mutex};
    if (who->is.exchange(claimant::phase::over) == claimant::phase::holding && c->is == cohort::state::held) end(c);
}

bool engine::valid(const claimant& who) const noexcept {
    return who.is.load(std::memory_order_acquire) == claimant::phase::holding && !forked() &&
           clock_->now() < who.cohort->valid_until.load(std::memory_order_acquire);
}

boot_clock::time_point engine::valid_until(const claimant& who) const noexcept {
    if (who.is.load() != claimant::phase::holding || forked()) return boot_clock::time_point::min();
    const auto until = who.cohort->valid_until.load(std::memory_order_acquire);
    return clock_->now() < until ? until : boot_clock::time_point::min();
}

std::stop_token engine::lost_token(claimant& who) {
    std::unique_lock guard{shard_of(*who.cohort).mutex};
    const bool first = !who.watched;
    if (first) who.watched = std::make_unique<claimant::watch>();
    const bool is_lost = who.is.load() == claimant::phase::holding && who.cohort->is == cohort::state::ended;
    std::stop_source stop = who.watched->stop;
    guard.unlock();
    if (is_lost && first) stop.request_stop();  // nobody listens yet; later ones are told by the notifier
    return stop.get_token();
}

void engine::on_lost(const std::shared_ptr<claimant>& who, unique_function<void()> call) {
    if (!call) return;
    notifier_->post([] {});  // starts the thread here, where a failure can be told
    std::unique_lock guard{shard_of(*who->cohort).mutex};
    if (who->is.load() != claimant::phase::holding) return;
    if (who->cohort->is == cohort::state::ended) {
        guard.unlock();
        notify([call = std::move(call)]() mutable { guarded(call); });
        return;
    }
    if (!who->watched) who->watched = std::make_unique<claimant::watch>();
    who->watched->calls.push_back(std::move(call));
}

bool engine::notify(spi::task what) noexcept {
    try {
        notifier_->post(std::move(what));
        return true;
    } catch (...) {  // valid() still tells the truth
        return false;
    }
}

void engine::emit(event_kind kind, const std::string& name, token t, std::error_code reason,
                  spi::duration took) noexcept {
    if (!options_.observer) return;
    if (unseen_events_.fetch_add(1) >= most_unseen_events) {
        unseen_events_.fetch_sub(1);
        dropped_events_.fetch_add(1);
        return;
    }
    event e{kind, name, t, reason, took, clock_->now(), dropped_events_.exchange(0)};
    const bool posted = notify([self = shared_from_this(), e = std::move(e)] {
        self->unseen_events_.fetch_sub(1);
        guarded([&] { self->options_.observer->on_event(e); });
    });
    if (!posted) unseen_events_.fetch_sub(1);
}

void engine::said_goodbye(int more) noexcept {
    std::scoped_lock guard{quiet_mutex_};
    goodbyes_ += more;
    if (goodbyes_ == 0) quiet_.notify_all();
}

void engine::close() noexcept {
    if (closed_.exchange(true)) return;
    // One deadline for everything. What is not sent by then ends with the store's session, or with its lease.
    const auto until = std::chrono::steady_clock::now() + options_.close_wait;
    const auto left = [&] {
        return std::max<spi::duration>(until - std::chrono::steady_clock::now(), spi::duration::zero());
    };
    std::vector<std::shared_ptr<farewell>> leaving;
    for (shard& s : shards_) {
        errands todo;
        {
            std::scoped_lock guard{s.mutex};
            for (const auto& c : s.all()) {
                const bool kept = c->terms.detached && c->is == cohort::state::held;
                refuse_line(*c, errc::closed, {}, todo);
                if (const auto holder = c->holder.lock()) {
                    holder->is = claimant::phase::over;
                    holder->closed = true;
                }
                if (!kept) leaving.push_back(goodbye(*c));
                end(c);
            }
        }
        run(todo);
    }
    for (const auto& one : leaving)
        if (left() > spi::duration::zero()) one->send();
    leaving.clear();
    {
        std::unique_lock guard{quiet_mutex_};
        quiet_.wait_for(guard, left(), [&] { return goodbyes_ == 0; });
    }
    shut_.store(true);
    watchdog_->stop();
    if (own_clock_ != nullptr) own_clock_->stop();
    store_->close();
    if (own_notifier_ != nullptr) own_notifier_->stop(left());
}

}  // namespace mortise::inline v0::core
