#include "stores/host/host_store.hpp"

#include "base/grant_words.hpp"
#include "base/listed_locks.hpp"
#include "base/text.hpp"
#include "stores/host/diagnostics.hpp"
#include "stores/host/host_connection.hpp"
#include "stores/host/named_state.hpp"
#include "stores/host/operator_log.hpp"
#include "stores/host/own_claims.hpp"
#include "stores/host/pending_claims.hpp"
#include "stores/host/promises.hpp"
#include "stores/host/reaper.hpp"
#include "stores/host/store_directory.hpp"
#include "stores/host/temporary_error.hpp"
#include "stores/host/wait_slots.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <iterator>
#include <new>
#include <set>

namespace mortise::inline v0::stores::host {
namespace {

using std::chrono::milliseconds;

// How often the first in the queue looks for holders that died or whose lease ended, which nobody announces. A waiter further
// back looks that many times more rarely, up to a limit: many waiters together would otherwise leave no time for work.
constexpr milliseconds look_every{20};
constexpr std::size_t slowest_pace = 50;
constexpr std::size_t pace_after_a_failure = 5;

// How long a claim that waits may block its caller's thread if a slow process owns the ledger's lock. After that it waits without
// one (pending_claims.hpp).
constexpr milliseconds callers_patience{1900};

// How long the io thread may wait for the ledger's lock. It has other holds to care for.
constexpr milliseconds short_patience{50};

// A release that does not succeed in this time is repeated later.
constexpr milliseconds release_patience{200};

// How often a client that only holds makes sure that the files are still in place.
constexpr std::chrono::seconds watch_every{1};

// Of a list, with the ledger locked: some milliseconds.
constexpr std::size_t names_at_a_time = 512;

// What this thread saw in its wait slot before it asked for a lock: it must not sleep through a change since then.
thread_local struct {
    const std::atomic<std::uint32_t>* wait_slot;
    std::uint32_t value;
} seen_before_asking{};

// One class because it is one client: its verbs, and what its looks find, change the same claims of its own.
class host_store final : public spi::store {
public:
    host_store(store_directory where, const spi::context& context)
        : context_(context),
          from_(std::make_shared<base::whereabouts>(base::whereabouts{context.host, context.pid})),
          link_(std::move(where), context.clock) {}
    ~host_store() override { close(); }

    const mortise::promises& promises() const noexcept override { return promises_; }
    void claim(const spi::claim_request&, spi::reply<spi::claim_answer>) override;
    void renew(std::span<const spi::renewal>, spi::reply<std::vector<spi::renewal_answer>>) override;
    void release(std::string_view name, const claim_id&, spi::reply<spi::release_answer>) override;
    std::optional<spi::duration> keeps_abandoned(const std::optional<spi::duration>& lease) const noexcept override {
        return lease;
    }
    void list(spi::reply<spi::listing>) override;
    void list_part(std::string_view from, spi::reply<spi::listing>) override;
    void break_hold(const spi::break_request&, spi::reply<spi::break_answer>) override;
    void check(spi::reply<std::vector<finding>>) override;
    void sleep(spi::sleeper& caller) override;
    void wake(spi::sleeper& caller) noexcept override;
    void close() noexcept override;

private:
    spi::listing part_of_list(std::string_view from);
    void connect(process_slots::urgency when = process_slots::urgency::now);
    void sweep();

    template <class Verb>
    auto with(std::string_view name, block_number hint, milliseconds patience, Verb&& verb);
    void reap(named_state& state, base::instant at, base::effects& out);
    spi::release_answer let_go(std::string_view name, const claim_id& id, block_number hint, milliseconds patience);
    bool repeat_releases();
    void notify(const std::string& name, const base::effects& out);
    void notify_granted(const std::string& name, const base::effects::notice& what);
    spi::claim_answer ask(const spi::claim_request& wanted, milliseconds patience);
    spi::claim_answer not_yet(const spi::claim_request& wanted, const temporary_error& why);
    bool ask_for_pending();

    std::size_t look(const own_claims::found& at_these, bool closely);
    void look_again(std::size_t pace);
    void look_around();
    void watch_files();
    bool still_in_place();
    void lose(const own_claims::found& which);
    void lose_taken();
    void abandon_claims();

    const mortise::promises promises_ = host_promises();
    const spi::context context_;
    const std::shared_ptr<const base::whereabouts> from_;
    host_connection link_;

    std::atomic<bool> closed_{false};
    std::atomic<spi::time_point> next_look_{spi::time_point::max()};
    std::atomic<bool> watching_{false};
    own_claims ours_;
    pending_claims pending_;
};

void host_store::connect(process_slots::urgency when) {
    if (link_.is_open()) return;
    link_.open(
        when,
        [this](bool lost) {
            if (!closed_) look(lost ? ours_.all() : ours_.waiting(), false);
        },
        [this] { sweep(); });
}

// Ends the claims of processes that have died and removes their pipes. If the ledger is busy, another client will.
void host_store::sweep() {
    for (const auto& [name, out] : reap_all(link_.records(), release_patience)) notify(name, out);
    link_.pipes().remove_those_of_the_dead(link_.records().slots());
}

// A verb on one name: all of it happens, or nothing does.
template <class Verb>
auto host_store::with(std::string_view name, block_number hint, milliseconds patience, Verb&& verb) {
    base::effects out;
    auto answer = [&] {
        ledger_access in{link_.records(), patience};
        named_state state{in, name, hint};
        auto result = verb(state, base::instant::at(boot_clock::now()), out);
        state.finish();
        in.must_be_sound();
        return result;
    }();
    try {
        if (!out.granted.empty() || !out.lost.empty()) notify(std::string(name), out);
    } catch (const std::exception&) {  // it is committed; whoever was not notified polls
    }
    return answer;
}

// And removes the pipes of the dead.
void host_store::reap(named_state& state, base::instant at, base::effects& out) {
    for (const session_id gone : reap_blocking(link_.records(), state, at, out)) link_.pipes().remove(gone);
}

// Without the ledger's lock.
void host_store::notify(const std::string& name, const base::effects& out) {
    for (const auto& notice : out.lost) {
        if (notice.session != link_.session()) {
            link_.pipes().send(notice.session, wake_pipes::message::lost);
            continue;
        }
        if (ours_.forget(notice.id)) context_.events.lost(name, notice.id);
    }
    for (const auto& notice : out.granted) notify_granted(name, notice);
}

void host_store::notify_granted(const std::string& name, const base::effects::notice& what) {
    if (what.session == link_.session()) {
        if (ours_.stops_waiting(what.id, what.grant)) context_.events.granted(name, what.id, what.grant);
    } else if (what.wait_slot == 0 || !wake_sleepers(link_.records().wait_slot(what.wait_slot))) {
        if (!is_alive(link_.records(), what.session) ||
            !link_.pipes().send(what.session, wake_pipes::message::granted)) {
            with(name, 0, short_patience, [&](named_state& state, base::instant at, base::effects& out) {
                reap(state, at, out);
                return 0;
            });
        }
    }
}

void host_store::claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) {
    using enum spi::claim_answer::verdict;
    spi::claim_answer answer;
    try {
        if (const auto why = pending_.why(wanted.id)) {
            answer = {.is = queued, .detail = *why};
        } else {
            connect();
            link_.check_files(boot_clock::now());
            if (wanted.wait_slot != 0) {
                const auto& wait_slot = link_.records().wait_slot(wanted.wait_slot);
                seen_before_asking = {&wait_slot, wait_slot.load()};
            }
            // A repeated claim is sent by the io thread, which must not wait for long.
            const bool again = ours_.find(wanted.id).has_value();
            answer = ask(wanted, again ? short_patience : wanted.queue ? callers_patience : ledger_patience);
        }
    } catch (const temporary_error& e) {
        answer = not_yet(wanted, e);
    } catch (const std::exception& e) {
        const auto* reason = dynamic_cast<const error*>(&e);
        // A repeated claim may already be granted or queued; the next look tells.
        answer = {.is = ours_.find(wanted.id) ? unknown : refused,
                  .reason = reason != nullptr ? reason->code() : make_error_code(errc::unreachable),
                  .detail = e.what()};
    }
    if (answer.is == queued) look_again(1);
    if (answer.is == queued || answer.is == granted) watch_files();
    if (answer.is == granted) lose_taken();
    done(std::move(answer));
}

// The claim waits in the ledger already, or here until it can. One that replaces a hold does not wait here: if it were withdrawn,
// nobody would know whether it had replaced it.
spi::claim_answer host_store::not_yet(const spi::claim_request& wanted, const temporary_error& why) {
    using enum spi::claim_answer::verdict;
    const bool known = ours_.find(wanted.id).has_value();
    const bool replaces = wanted.instead_of != claim_id{};
    if (!wanted.queue || (replaces && !known))
        return {.is = known || replaces ? unknown : refused, .reason = why.code(), .detail = why.what()};
    if (!known) pending_.add(wanted, why.what());
    return {.is = queued, .detail = why.what()};
}

// True: some are still pending.
bool host_store::ask_for_pending() {
    using enum spi::claim_answer::verdict;
    for (const auto& kept : pending_.all()) {
        const spi::claim_request& wanted = **kept;
        spi::claim_answer answer{.is = refused};
        try {
            connect(process_slots::urgency::can_wait);
            link_.check_files(boot_clock::now());
            answer = ask(wanted, short_patience);
        } catch (const temporary_error& e) {  // the others would fail too
            pending_.explain(e.what());
            return true;
        } catch (const std::exception&) {
        }
        if (!pending_.remove(wanted.id)) {  // withdrawn meanwhile
            release(wanted.name, wanted.id, [](spi::release_answer) {});
        } else if (answer.is == granted) {
            context_.events.granted(wanted.name, wanted.id, answer.grant);
        } else if (answer.is != queued) {  // the core asks again, and is told why
            context_.events.lost(wanted.name, wanted.id);
        }
    }
    return false;
}

spi::claim_answer host_store::ask(const spi::claim_request& wanted, milliseconds patience) {
    using enum spi::claim_answer::verdict;
    const auto known = ours_.find(wanted.id);
    return with(wanted.name, known ? known->block : 0, patience,
                [&](named_state& state, base::instant at, base::effects& out) {
                    const auto once = [&] {
                        return state.claim(base::kept_claim::of(wanted, link_.session(), from_), wanted.capacity,
                                           wanted.queue, at, out);
                    };
                    base::verdict result = once();
                    const bool stopped_waiting = known && result.is == busy;
                    if (stopped_waiting) {
                        ours_.forget(wanted.id);
                    } else if (result.is == busy ||
                               result.reason == errc::kind_mismatch) {  // perhaps only dead processes hold it
                        reap(state, at, out);
                        if (result.is == busy || state.idle()) result = once();
                    }
                    if ((result.is == granted || result.is == queued) &&
                        !ours_.note(wanted, state.hint(), result.is == queued, result.grant)) {
                        state.release(wanted.id, link_.session(), at, out);  // the client has just closed
                        return spi::claim_answer{.is = refused, .reason = errc::closed};
                    }
                    return std::move(result).answer(wanted);
                });
}

void host_store::renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) {
    std::vector<spi::renewal_answer> answers;
    for (const spi::renewal& one : due) {
        try {
            connect();
            answers.push_back(with(one.name, ours_.block_of(one.id), short_patience,
                                   [&](named_state& state, base::instant at, base::effects& out) {
                                       return state.renew(one.id, one.lease, at, out);
                                   }));
        } catch (const std::exception&) {
            answers.push_back(spi::renewal_answer::unknown);
        }
    }
    done(std::move(answers));
}

void host_store::release(std::string_view name, const claim_id& id, spi::reply<spi::release_answer> done) {
    spi::release_answer answer = spi::release_answer::unknown;
    const auto mine = ours_.forget(id);
    try {
        if (pending_.remove(id)) {
            answer = spi::release_answer::released;
        } else {
            connect();
            answer = let_go(name, id, mine ? mine->block : 0, release_patience);
        }
    } catch (const std::exception&) {
        // Nobody else will release it while this process lives.
        if (mine) ours_.repeat_later({std::string(name), id, mine->block});
        if (closed_) abandon_claims();
    }
    if (answer == spi::release_answer::unknown) look_again(1);
    done(answer);
}

spi::release_answer host_store::let_go(std::string_view name, const claim_id& id, block_number hint,
                                       milliseconds patience) {
    return with(name, hint, patience, [&](named_state& state, base::instant at, base::effects& out) {
        return state.release(id, link_.session(), at, out);
    });
}

// Repeats the releases that failed. True: none is left.
bool host_store::repeat_releases() {
    while (const auto next = ours_.next_to_repeat()) {
        try {
            if (!link_.records().damaged()) let_go(next->name, next->id, next->block, short_patience);
        } catch (const std::exception&) {
            ours_.repeat_later(*next);
            return false;
        }
    }
    return true;
}

void host_store::list(spi::reply<spi::listing> done) {
    spi::listing all;
    do {
        spi::listing some = part_of_list(all.next);
        if (some.failed) return done(std::move(some));
        std::ranges::move(some.holds, std::back_inserter(all.holds));
        all.next = std::move(some.next);
    } while (!all.next.empty());
    base::sort_listed(all.holds);
    done(std::move(all));
}

void host_store::list_part(std::string_view from, spi::reply<spi::listing> done) {
    done(part_of_list(from));
}

// The ledger is locked meanwhile, so by a few names at a time.
spi::listing host_store::part_of_list(std::string_view from) {
    spi::listing some;
    try {
        const auto records = link_.records_to_read();
        if (!records) return some;
        ledger_access in{*records};
        const auto now = boot_clock::now();
        std::uint32_t bucket = 0;
        std::from_chars(from.data(), from.data() + from.size(), bucket);
        bucket = in.each_of_some(bucket, names_at_a_time, [&](block_number n) {
            const std::string name{in.name(n).text()};
            const named_state state{in, name};
            for (block_number c = state.first_holder(); c != 0; c = state.after(c)) {
                const base::kept_claim held = state.at(c);
                if (now < held.ends && !held.idle() && !held.over() && (held.detached || has_owner(*records, state, c)))
                    some.holds.push_back(
                        {name, state.describe(c, now), state.capacity(), held.weight, state.waiting(), held.left(now)});
            }
        });
        in.must_be_sound();
        if (bucket < format::bucket_count) some.next = std::to_string(bucket);
    } catch (const error& e) {
        some = {.failed = e.code(), .detail = e.what()};
    }
    return some;
}

void host_store::break_hold(const spi::break_request& which, spi::reply<spi::break_answer> done) {
    spi::break_answer answer = spi::break_answer::unknown;
    try {
        connect();
        std::string whose;
        const bool broken =
            with(which.name, 0, ledger_patience, [&](named_state& state, base::instant at, base::effects& out) {
                if (const block_number held = state.find_counter(which.counter))
                    whose = state.describe(held, at.now).describe();
                return state.break_hold(which.counter, at, out);
            });
        answer = broken ? spi::break_answer::broken : spi::break_answer::not_held;
        if (broken)
            log_operation(link_.where(),
                          "broke " + base::quoted(which.name) + ", held by " + whose + "; " + std::string(which.note));
    } catch (const std::exception&) {
    }
    done(answer);
}

void host_store::check(spi::reply<std::vector<finding>> done) {
    std::vector<finding> found;
    try {
        found = diagnose(link_.where(), link_.records_to_read().get());
    } catch (const std::exception& e) {
        found.push_back(
            {finding::grade::problem, e.what(), "mend what the message names; until then nothing is granted"});
    }
    done(std::move(found));
}

// The caller's thread sleeps on its wait slot. Whoever grants its claim wakes it, and it looks for the grant itself.
void host_store::sleep(spi::sleeper& caller) {
    if (!link_.is_open()) return store::sleep(caller);
    std::atomic<std::uint32_t>& wait_slot = link_.records().wait_slot(caller.wait_slot);
    std::uint32_t seen = seen_before_asking.wait_slot == &wait_slot ? seen_before_asking.value : wait_slot.load();
    seen_before_asking = {};
    while (true) {
        int was = spi::sleeper::awake;
        if (!caller.is.compare_exchange_strong(was, spi::sleeper::asleep)) return;
        const bool woken = sleep_on(wait_slot, seen);
        was = spi::sleeper::asleep;
        if (!caller.is.compare_exchange_strong(was, spi::sleeper::awake)) return;
        if (!woken) continue;
        seen = wait_slot.load();
        if (!closed_) look(ours_.at_wait_slot(caller.wait_slot), false);
    }
}

void host_store::wake(spi::sleeper& caller) noexcept {
    const std::uint32_t wait_slot = caller.wait_slot;
    if (caller.is.exchange(spi::sleeper::answered) != spi::sleeper::asleep) return;
    caller.is.notify_one();
    if (link_.is_open() && !link_.records().damaged()) wake_sleepers(link_.records().wait_slot(wait_slot));
}

// Notices which of these claims were granted or lost. Closely: also whether the processes that block them live. Returns the best
// place in a queue of those that still wait, as far as it was counted.
std::size_t host_store::look(const own_claims::found& at_these, bool closely) {
    std::size_t best = slowest_pace;
    for (const auto& [id, known] : at_these) {
        std::optional<spi::grant> granted;
        bool lost = false;
        try {
            with(known.name, known.block, short_patience,
                 [&, &of = id](named_state& state, base::instant at, base::effects& out) {
                     if (closely) reap(state, at, out);
                     state.settle(at, out);
                     if (const block_number mine = state.find_holder(of)) {
                         granted = state.at(mine).grant();
                     } else if (const block_number waits = state.find_waiter(of)) {
                         best = std::min(best, state.place_of(waits, slowest_pace));
                     } else {
                         lost = true;
                     }
                     return 0;
                 });
        } catch (const std::exception&) {
            best = std::min(best, pace_after_a_failure);
            continue;  // looked at again soon
        }
        if (granted && ours_.stops_waiting(id, *granted)) context_.events.granted(known.name, id, *granted);
        if (lost && ours_.forget(id)) context_.events.lost(known.name, id);
    }
    return best;
}

// In files that others no longer find nothing is granted, and what is held in them others may hold as well. Waiters and holders
// are told that they have lost, and learn the reason when they ask again.
bool host_store::still_in_place() {
    try {
        if (link_.is_open()) link_.records().check_in_place();
        return true;
    } catch (const std::exception&) {
        const own_claims::found all = ours_.all();
        for (const auto& [id, known] : all)
            if (known.word) base::end_word(*known.word, id);
        lose(all);
        return false;
    }
}

void host_store::lose_taken() {
    try {
        lose(ours_.taken());
    } catch (const std::bad_alloc&) {  // the next claim tries again
    }
}

void host_store::lose(const own_claims::found& which) {
    for (const auto& [id, known] : which)
        if (ours_.forget(id)) context_.events.lost(known.name, id);
}

// Unless a look is due before that anyhow.
void host_store::look_again(std::size_t pace) {
    const auto when = context_.clock.now() + look_every * pace;
    auto due = next_look_.load();
    while (when < due && !next_look_.compare_exchange_weak(due, when)) {
    }
    if (when >= due || closed_) return;
    try {
        context_.clock.at(when, [this, when] {
            spi::time_point expected = when;
            if (!closed_ && next_look_.compare_exchange_strong(expected, spi::time_point::max())) look_around();
        });
    } catch (const std::exception&) {  // no timer: the next claim that waits tries again
        next_look_ = spi::time_point::max();
    }
}

void host_store::look_around() {
    const bool all_released = repeat_releases();
    const bool pending = ask_for_pending();
    const own_claims::found waiting = ours_.waiting();
    std::size_t pace = waiting.empty() || !still_in_place() ? slowest_pace : look(waiting, true);
    if (!all_released || pending) pace = 1;
    if (!all_released || pending || !waiting.empty()) look_again(pace);
}

// While anything is held or waited for.
void host_store::watch_files() {
    if (watching_.load(std::memory_order_relaxed) || watching_.exchange(true) || closed_) return;
    try {
        context_.clock.at(context_.clock.now() + watch_every, [this] {
            watching_ = false;
            if (!closed_ && !ours_.none() && still_in_place()) watch_files();
        });
    } catch (const std::exception&) {
        watching_ = false;
    }
}

void host_store::close() noexcept {
    if (closed_.exchange(true)) return;
    ours_.close();
    pending_.clear();
    if (!link_.stop_listening()) return;
    try {
        std::set<std::string> names;
        for (const auto& one : ours_.all()) names.insert(one.second.name);
        for (const std::string& name : names)
            with(name, 0, short_patience, [&](named_state& state, base::instant at, base::effects& out) {
                state.drop_session(link_.session(), at, out);
                return 0;
            });
        if (!repeat_releases()) abandon_claims();
    } catch (const std::exception&) {
        abandon_claims();
    }
    link_.pipes().remove(link_.session());
}

// Whoever finds them ends them.
void host_store::abandon_claims() {
    for (const auto& [id, known] : ours_.all()) link_.records().abandon(known.block, id);
    while (const auto failed = ours_.next_to_repeat()) link_.records().abandon(failed->block, failed->id);
}

}  // namespace

spi::store_factory open(const base::url& address) {
    return [where = store_directory::of(address)](const spi::context& context) {
        return std::make_unique<host_store>(where, context);
    };
}

}  // namespace mortise::inline v0::stores::host
