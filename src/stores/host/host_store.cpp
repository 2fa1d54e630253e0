#include "stores/host/host_store.hpp"

#include "base/descriptors.hpp"
#include "base/text.hpp"
#include "stores/host/bells.hpp"
#include "stores/host/burying.hpp"
#include "stores/host/checkup.hpp"
#include "stores/host/named_state.hpp"
#include "stores/host/own_claims.hpp"
#include "stores/host/pending_claims.hpp"
#include "stores/host/place.hpp"
#include "stores/host/promised.hpp"
#include "stores/host/record.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>

#include <unistd.h>

namespace mortise::inline v0::stores::host {
namespace {

using std::chrono::milliseconds;

// How often the next in line looks for holders that died or whose lease ended: nobody tells it of those. Whoever stands further
// back looks as many times more rarely, up to a limit: in a crowd all of them together would leave no time for work.
constexpr milliseconds look_every{20};
constexpr std::size_t slowest_pace = 50;
constexpr std::size_t pace_after_a_failure = 5;

// How long a claim that waits may keep its caller's thread if a slow process is inside the store. Then it goes on waiting
// without one.
constexpr milliseconds callers_patience{1900};

// How long the io thread may be kept by another process's being inside the store. It has other holds to care for.
constexpr milliseconds short_patience{50};

// A release that does not get through in this time is owed, and made up for later.
constexpr milliseconds release_patience{200};

// How often a client makes sure that the files are still there, when it asks and when it only holds.
constexpr milliseconds check_every{100};
constexpr std::chrono::seconds watch_every{1};

// What this thread last saw at a wait_slot before it asked for a lock: whatever happens there from then on must not be slept
// through.
thread_local struct {
    const std::atomic<std::uint32_t>* wait_slot;
    std::uint32_t value;
} seen_before_asking{};

class host_store final : public spi::store {
public:
    host_store(place where, const spi::context& around)
        : where_(std::move(where)),
          around_(around),
          from_(std::make_shared<base::whereabouts>(base::whereabouts{around.host, around.pid})) {}
    ~host_store() override { close(); }

    const mortise::promises& promises() const noexcept override { return promised_; }
    void claim(const spi::claim_request&, spi::reply<spi::claim_answer>) override;
    void renew(std::span<const spi::renewal>, spi::reply<std::vector<spi::renewal_answer>>) override;
    void release(std::string_view name, const claim_id&, spi::reply<spi::release_answer>) override;
    std::optional<spi::duration> keeps_abandoned(const std::optional<spi::duration>& lease) const noexcept override {
        return lease;
    }
    void list(spi::reply<spi::listing>) override;
    void break_hold(const spi::break_request&, spi::reply<spi::break_answer>) override;
    void check(spi::reply<std::vector<finding>>) override;
    void sleep(spi::sleeper& who) override;
    void wake(spi::sleeper& who) noexcept override;
    void close() noexcept override;

private:
    void connect(seats::hurry how = seats::hurry::now);
    void sit_down(seats::hurry how);
    void sweep();
    std::shared_ptr<ledger> to_look_at();

    template <class Verb>
    auto with(std::string_view name, block_number hint, milliseconds patience, Verb&& verb);
    void check_files(spi::time_point now);
    bool alive(session who) const noexcept { return is_alive(*ledger_, who); }
    void bury(named_state& state, base::instant at, base::effects& out);
    spi::release_answer let_go(std::string_view name, const claim_id& id, block_number hint, milliseconds patience);
    bool pay();
    void tell(const std::string& name, const base::effects& out);
    void tell_granted(const std::string& name, const base::effects::notice& what);
    spi::claim_answer ask(const spi::claim_request& wanted, milliseconds patience);
    spi::claim_answer not_yet(const spi::claim_request& wanted, const not_now& why);
    bool ask_for_pending();

    std::size_t look(const own_claims::found& at_these, bool closely);
    void look_again(std::size_t pace);
    void look_around();
    void watch_files();
    bool still_in_place();
    void leave_claims_behind();

    const mortise::promises promised_ = promised();
    const place where_;
    const spi::context around_;
    const std::shared_ptr<const base::whereabouts> from_;

    std::mutex connecting_;
    std::atomic<bool> connected_{false};
    std::shared_ptr<ledger> ledger_;
    std::unique_ptr<bells> bells_;
    session session_ = 0;
    std::atomic<bool> closed_{false};
    std::atomic<spi::time_point> next_check_{spi::time_point{}};

    std::atomic<spi::time_point> next_look_{spi::time_point::max()};
    std::atomic<bool> watching_{false};
    own_claims ours_;
    pending_claims pending_;
};

void host_store::connect(seats::hurry how) {
    if (connected_.load(std::memory_order_acquire)) return;
    std::scoped_lock guard{connecting_};
    if (!bells_) sit_down(how);
    if (!connected_) sweep();
    connected_ = true;
}

// Who only looks needs no seat.
std::shared_ptr<ledger> host_store::to_look_at() {
    auto records = connected_.load(std::memory_order_acquire) ? ledger_ : ledger::look_at(where_);
    records->check_in_place();
    return records;
}

void host_store::sit_down(seats::hurry how) {
    const base::standard_descriptors_taken out_of_the_way;
    static constinit std::atomic<std::uint32_t> clients{1};
    ledger_ = ledger::open(where_, how);
    session_ = session_of(ledger_->seats().mine(), clients.fetch_add(1));
    const int directory = where_.open_directory();
    const mode_t mode = where_.file_mode(directory);
    ::close(directory);
    bells_ = std::make_unique<bells>(ledger_->directory(), session_, mode);
    try {
        around_.clock.watch(bells_->descriptor(), [this] {
            const bool lost = bells_->answer();
            if (!closed_) look(lost ? ours_.all() : ours_.waiting(), false);
        });
    } catch (...) {
        bells_.reset();
        throw;
    }
}

// What processes left behind that are gone: their claims and their bells. In a crowd somebody else will.
void host_store::sweep() {
    try {
        for (const auto& [name, out] : bury_all(*ledger_, release_patience)) tell(name, out);
    } catch (const not_now&) {
    }
    bells_->take_down_those_of_the_dead(ledger_->seats());
}

// A verb on one name: all of it happens, or nothing does.
template <class Verb>
auto host_store::with(std::string_view name, block_number hint, milliseconds patience, Verb&& verb) {
    base::effects out;
    auto answer = [&] {
        ledger::access in{*ledger_, patience};
        named_state state{in, name, hint};
        auto said = verb(state, base::instant::at(boot_clock::now()), out);
        state.finish();
        in.must_be_sound();
        return said;
    }();
    try {
        if (!out.granted.empty() || !out.lost.empty()) tell(std::string(name), out);
    } catch (const std::exception&) {  // it has happened; whoever was not told looks by itself
    }
    return answer;
}

void host_store::check_files(spi::time_point now) {
    spi::time_point due = next_check_.load(std::memory_order_relaxed);
    if (now < due || !next_check_.compare_exchange_strong(due, now + check_every)) return;
    try {
        ledger_->check_in_place();
    } catch (...) {
        next_check_ = spi::time_point{};
        throw;
    }
}

// And their bells.
void host_store::bury(named_state& state, base::instant at, base::effects& out) {
    for (const session gone : bury_those_in_the_way(*ledger_, state, at, out)) bells_->take_down(gone);
}

// With the ledger given back.
void host_store::tell(const std::string& name, const base::effects& out) {
    for (const auto& notice : out.lost) {
        if (notice.session != session_) {
            bells_->ring(notice.session, bells::call::lost);
            continue;
        }
        if (ours_.forget(notice.id)) around_.events.lost(name, notice.id);
    }
    for (const auto& notice : out.granted) tell_granted(name, notice);
}

void host_store::tell_granted(const std::string& name, const base::effects::notice& what) {
    if (what.session == session_) {
        if (ours_.stops_waiting(what.id)) around_.events.granted(name, what.id, what.grant);
    } else if (what.wait_slot == 0 || !ledger::wake(ledger_->wait_slot(what.wait_slot))) {
        if (!alive(what.session) || !bells_->ring(what.session, bells::call::granted)) {
            with(name, 0, short_patience, [&](named_state& state, base::instant at, base::effects& out) {
                bury(state, at, out);
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
            check_files(boot_clock::now());
            if (wanted.wait_slot != 0) {
                const auto& wait_slot = ledger_->wait_slot(wanted.wait_slot);
                seen_before_asking = {&wait_slot, wait_slot.load()};
            }
            // Asked again, it is the io thread's business.
            const bool again = ours_.find(wanted.id).has_value();
            answer = ask(wanted, again ? short_patience : wanted.queue ? callers_patience : ledger::patience);
        }
    } catch (const not_now& e) {
        answer = not_yet(wanted, e);
    } catch (const std::exception& e) {
        const auto* said = dynamic_cast<const error*>(&e);
        // Asked again, it may well be granted or queued; it is looked at soon.
        answer = {.is = ours_.find(wanted.id) ? unknown : refused,
                  .reason = said != nullptr ? said->code() : make_error_code(errc::unreachable),
                  .detail = e.what()};
    }
    if (answer.is == queued) look_again(1);
    if (answer.is == queued || answer.is == granted) watch_files();
    done(std::move(answer));
}

// It waits in the ledger already, or it waits here until it can. One that takes the place of a hold does not: it could not be
// withdrawn without knowing whether it did.
spi::claim_answer host_store::not_yet(const spi::claim_request& wanted, const not_now& why) {
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
            connect(seats::hurry::can_wait);
            check_files(boot_clock::now());
            answer = ask(wanted, short_patience);
        } catch (const not_now& e) {  // nor would the others get in
            pending_.explain(e.what());
            return true;
        } catch (const std::exception&) {
        }
        if (!pending_.remove(wanted.id)) {  // withdrawn meanwhile
            release(wanted.name, wanted.id, [](spi::release_answer) {});
        } else if (answer.is == granted) {
            around_.events.granted(wanted.name, wanted.id, answer.grant);
        } else if (answer.is != queued) {  // it asks anew, and is told why
            around_.events.lost(wanted.name, wanted.id);
        }
    }
    return false;
}

spi::claim_answer host_store::ask(const spi::claim_request& wanted, milliseconds patience) {
    using enum spi::claim_answer::verdict;
    const auto known = ours_.find(wanted.id);
    return with(
        wanted.name, known ? known->block : 0, patience, [&](named_state& state, base::instant at, base::effects& out) {
            const auto once = [&] {
                return state.claim(base::kept_claim::of(wanted, session_, from_), wanted.capacity, wanted.queue, at,
                                   out);
            };
            base::verdict said = once();
            const bool stopped_waiting = known && said.is == busy;
            if (stopped_waiting) {
                ours_.forget(wanted.id);
            } else if (said.is == busy || said.reason == errc::kind_mismatch) {  // in the way of the living?
                bury(state, at, out);
                if (said.is == busy || state.idle()) said = once();
            }
            if ((said.is == granted || said.is == queued) && !ours_.note(wanted, state.hint(), said.is == queued)) {
                state.release(wanted.id, session_, at, out);  // the client has just left
                return spi::claim_answer{.is = refused, .reason = errc::closed};
            }
            return std::move(said).answer(wanted);
        });
}

void host_store::renew(std::span<const spi::renewal> due, spi::reply<std::vector<spi::renewal_answer>> done) {
    std::vector<spi::renewal_answer> answers;
    for (const spi::renewal& one : due) {
        try {
            connect();
            answers.push_back(
                with(one.name, 0, short_patience, [&](named_state& state, base::instant at, base::effects& out) {
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
        // Nobody else will do it while this process lives.
        if (mine) ours_.owe({std::string(name), id, mine->block});
        if (closed_) leave_claims_behind();
    }
    if (answer == spi::release_answer::unknown) look_again(1);
    done(answer);
}

spi::release_answer host_store::let_go(std::string_view name, const claim_id& id, block_number hint,
                                       milliseconds patience) {
    return with(name, hint, patience, [&](named_state& state, base::instant at, base::effects& out) {
        return state.release(id, session_, at, out);
    });
}

// Releases that did not get through are tried again. True: all is paid.
bool host_store::pay() {
    while (const auto next = ours_.next_owed()) {
        try {
            if (!ledger_->damaged()) let_go(next->name, next->id, next->block, short_patience);
        } catch (const std::exception&) {
            ours_.owe(*next);
            return false;
        }
    }
    return true;
}

void host_store::list(spi::reply<spi::listing> done) {
    spi::listing all;
    try {
        const auto records = to_look_at();
        ledger::access in{*records};
        const auto now = boot_clock::now();
        in.each([&](block_number n) {
            const std::string name{in.name(n).text()};
            const named_state state{in, name};
            for (block_number c = state.first_holder(); c != 0; c = state.after(c)) {
                const base::kept_claim held = state.at(c);
                if (now < held.ends && (held.detached || has_owner(*records, state, c)))
                    all.holds.push_back(
                        {name, state.describe(c, now), state.capacity(), held.weight, state.waiting(), held.left(now)});
            }
        });
        in.must_be_sound();
        std::stable_sort(all.holds.begin(), all.holds.end(),
                         [](const auto& a, const auto& b) { return a.name < b.name; });
    } catch (const error& e) {
        all = {.failed = e.code(), .detail = e.what()};
    }
    done(std::move(all));
}

void host_store::break_hold(const spi::break_request& which, spi::reply<spi::break_answer> done) {
    spi::break_answer answer = spi::break_answer::unknown;
    try {
        connect();
        std::string whose;
        const bool broken =
            with(which.name, 0, ledger::patience, [&](named_state& state, base::instant at, base::effects& out) {
                if (const block_number held = state.find_counter(which.counter))
                    whose = state.describe(held, at.now).describe();
                return state.break_hold(which.counter, at, out);
            });
        answer = broken ? spi::break_answer::broken : spi::break_answer::not_held;
        if (broken)
            write_record(where_,
                         "broke " + base::quoted(which.name) + ", held by " + whose + "; " + std::string(which.note));
    } catch (const std::exception&) {
    }
    done(answer);
}

void host_store::check(spi::reply<std::vector<finding>> done) {
    std::vector<finding> found;
    try {
        found = check_up(where_, *to_look_at());
    } catch (const std::exception& e) {
        found.push_back(
            {finding::grade::problem, e.what(), "mend what the message names; until then nothing is granted"});
    }
    done(std::move(found));
}

// The caller's thread waits where whoever lets it in wakes it, and then looks for itself.
void host_store::sleep(spi::sleeper& who) {
    if (!connected_.load(std::memory_order_acquire)) return store::sleep(who);
    std::atomic<std::uint32_t>& wait_slot = ledger_->wait_slot(who.wait_slot);
    std::uint32_t seen = seen_before_asking.wait_slot == &wait_slot ? seen_before_asking.value : wait_slot.load();
    seen_before_asking = {};
    while (true) {
        int was = spi::sleeper::awake;
        if (!who.is.compare_exchange_strong(was, spi::sleeper::asleep)) return;
        const bool woken = ledger::sleep(wait_slot, seen);
        was = spi::sleeper::asleep;
        if (!who.is.compare_exchange_strong(was, spi::sleeper::awake)) return;
        if (!woken) continue;
        seen = wait_slot.load();
        if (!closed_) look(ours_.at_wait_slot(who.wait_slot), false);
    }
}

void host_store::wake(spi::sleeper& who) noexcept {
    const std::uint32_t wait_slot = who.wait_slot;
    if (who.is.exchange(spi::sleeper::answered) != spi::sleeper::asleep) return;
    who.is.notify_one();
    if (connected_.load(std::memory_order_acquire) && !ledger_->damaged()) ledger::wake(ledger_->wait_slot(wait_slot));
}

// Who of ours was granted, or thrown out, meanwhile. Closely: also whether whoever is in the way lives. The best place of those
// that still wait, as far as it was counted.
std::size_t host_store::look(const own_claims::found& at_these, bool closely) {
    std::size_t best = slowest_pace;
    for (const auto& [id, known] : at_these) {
        std::optional<spi::grant> granted;
        bool lost = false;
        try {
            with(known.name, known.block, short_patience,
                 [&, &of = id](named_state& state, base::instant at, base::effects& out) {
                     if (closely) {
                         bury(state, at, out);
                         state.settle(at, out);
                     }
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
        if (granted && ours_.stops_waiting(id)) around_.events.granted(known.name, id, *granted);
        if (lost && ours_.forget(id)) around_.events.lost(known.name, id);
    }
    return best;
}

// Nobody is let in by files that others no longer find, and what is held in them others may hold as well: whoever waits or
// holds is told, and learns why when it asks anew.
bool host_store::still_in_place() {
    try {
        if (connected_) ledger_->check_in_place();
        return true;
    } catch (const std::exception&) {
        for (const auto& one : ours_.all())
            if (ours_.forget(one.first)) around_.events.lost(one.second.name, one.first);
        return false;
    }
}

// Sooner, if a look at another pace is already due later.
void host_store::look_again(std::size_t pace) {
    const auto when = around_.clock.now() + look_every * pace;
    auto due = next_look_.load();
    while (when < due && !next_look_.compare_exchange_weak(due, when)) {
    }
    if (when >= due || closed_) return;
    try {
        around_.clock.at(when, [this, when] {
            spi::time_point expected = when;
            if (!closed_ && next_look_.compare_exchange_strong(expected, spi::time_point::max())) look_around();
        });
    } catch (const std::exception&) {  // no timer to be had: the next that waits tries again
        next_look_ = spi::time_point::max();
    }
}

void host_store::look_around() {
    const bool paid = pay();
    const bool pending = ask_for_pending();
    const own_claims::found waiting = ours_.waiting();
    std::size_t pace = waiting.empty() || !still_in_place() ? slowest_pace : look(waiting, true);
    if (!paid || pending) pace = 1;
    if (!paid || pending || !waiting.empty()) look_again(pace);
}

// While anything is held.
void host_store::watch_files() {
    if (watching_.load(std::memory_order_relaxed) || watching_.exchange(true) || closed_) return;
    try {
        around_.clock.at(around_.clock.now() + watch_every, [this] {
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
    if (!bells_) return;
    around_.clock.unwatch(bells_->descriptor());
    try {
        std::set<std::string> names;
        for (const auto& one : ours_.all()) names.insert(one.second.name);
        for (const std::string& name : names)
            with(name, 0, short_patience, [&](named_state& state, base::instant at, base::effects& out) {
                state.drop_session(session_, at, out);
                return 0;
            });
        if (!pay()) leave_claims_behind();
    } catch (const std::exception&) {
        leave_claims_behind();
    }
    bells_->take_down(session_);
}

// Whoever meets them buries them.
void host_store::leave_claims_behind() {
    for (const auto& [id, known] : ours_.all()) ledger_->leave_behind(known.block, id);
    while (const auto owed = ours_.next_owed()) ledger_->leave_behind(owed->block, owed->id);
}

}  // namespace

spi::store_factory open(const base::url& address) {
    return [where = place::of(address)](const spi::context& around) {
        return std::make_unique<host_store>(where, around);
    };
}

}  // namespace mortise::inline v0::stores::host
