#include "stores/host/host_store.hpp"

#include "base/descriptors.hpp"
#include "base/text.hpp"
#include "stores/host/bells.hpp"
#include "stores/host/burying.hpp"
#include "stores/host/checkup.hpp"
#include "stores/host/named_state.hpp"
#include "stores/host/own_claims.hpp"
#include "stores/host/place.hpp"
#include "stores/host/promised.hpp"
#include "stores/host/raw.hpp"
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

// How often a waiting client looks for holders that died or whose lease ended: nobody tells it of those.
constexpr milliseconds look_every{20};

// How long the io thread may be kept by another process's being inside the store. It has other holds to care for.
constexpr milliseconds short_patience{50};

// A release that does not get through in this time is owed, and made up for later.
constexpr milliseconds release_patience{200};

// How often a client makes sure that the files are still there.
constexpr std::chrono::seconds check_every{1};

// What this thread last saw at a berth before it asked for a lock: whatever happens there from then on must not be slept
// through.
thread_local struct {
    const std::atomic<std::uint32_t>* berth;
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
    mortise::raw_limits raw_limits() const override { return raw_limits_in(where_); }
    void sleep(spi::sleeper& who) override;
    void wake(spi::sleeper& who) noexcept override;
    void close() noexcept override;

private:
    void connect();
    void sit_down();
    void sweep();

    template <class Verb>
    auto with(std::string_view name, block_number hint, milliseconds patience, Verb&& verb);
    void check_files(spi::time_point now);
    bool alive(session who) const noexcept { return is_alive(*ledger_, who); }
    void bury(named_state& state, base::instant at, base::effects& out);
    spi::release_answer let_go(std::string_view name, const claim_id& id, block_number hint, milliseconds patience);
    bool pay();
    void tell(const std::string& name, const base::effects& out);
    void tell_granted(const std::string& name, const base::effects::notice& what);
    spi::claim_answer ask(const spi::claim_request& wanted);

    void look(const own_claims::found& at_these, bool closely);
    void look_later();
    bool still_in_place();

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

    std::atomic<bool> looking_{false};
    own_claims ours_;
};

void host_store::connect() {
    if (connected_.load(std::memory_order_acquire)) return;
    std::scoped_lock guard{connecting_};
    if (!bells_) sit_down();
    if (!connected_) sweep();
    connected_ = true;
}

void host_store::sit_down() {
    const base::standard_descriptors_taken out_of_the_way;
    static constinit std::atomic<std::uint32_t> clients{1};
    ledger_ = ledger::open(where_);
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

// What processes left behind that are gone: their claims and their bells.
void host_store::sweep() {
    for (const auto& [name, out] : bury_all(*ledger_)) tell(name, out);
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
    } else if (what.berth == 0 || !ledger::wake(ledger_->berth(what.berth))) {
        if (alive(what.session)) {
            bells_->ring(what.session, bells::call::granted);
        } else {
            with(name, 0, short_patience, [&](named_state& state, base::instant at, base::effects& out) {
                bury(state, at, out);
                return 0;
            });
        }
    }
}

void host_store::claim(const spi::claim_request& wanted, spi::reply<spi::claim_answer> done) {
    spi::claim_answer answer;
    try {
        connect();
        if (wanted.berth != 0) {
            const auto& berth = ledger_->berth(wanted.berth);
            seen_before_asking = {&berth, berth.load()};
        }
        answer = ask(wanted);
    } catch (const std::exception& e) {
        const auto* said = dynamic_cast<const error*>(&e);
        // Asked again, it may well be granted or queued; it is looked at soon.
        using enum spi::claim_answer::verdict;
        answer = {.is = ours_.find(wanted.id) ? unknown : refused,
                  .reason = said != nullptr ? said->code() : make_error_code(errc::unreachable),
                  .detail = e.what()};
    }
    if (answer.is == spi::claim_answer::verdict::queued) look_later();
    done(std::move(answer));
}

spi::claim_answer host_store::ask(const spi::claim_request& wanted) {
    using enum spi::claim_answer::verdict;
    const auto known = ours_.find(wanted.id);  // then it is asked again, by the io thread
    const auto patience = known ? short_patience : ledger::patience;
    return with(
        wanted.name, known ? known->block : 0, patience, [&](named_state& state, base::instant at, base::effects& out) {
            check_files(at.now);
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
        connect();
        answer = let_go(name, id, mine ? mine->block : 0, release_patience);
    } catch (const std::exception&) {
        if (mine) ours_.owe({std::string(name), id});  // nobody else will do it while this process lives
    }
    if (answer == spi::release_answer::unknown) look_later();
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
            let_go(next->name, next->id, 0, short_patience);
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
        connect();
        check_files(boot_clock::now());
        ledger::access in{*ledger_};
        const auto now = boot_clock::now();
        in.each([&](block_number n) {
            const std::string name{in.name(n).text()};
            const named_state state{in, name};
            for (block_number c = state.first_holder(); c != 0; c = state.after(c)) {
                const base::kept_claim held = state.at(c);
                if (now < held.ends && (held.detached || alive(held.session)))
                    all.holds.push_back({name, state.describe(c, now), state.capacity(), held.weight, state.waiting()});
            }
        });
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
        connect();
        ledger_->check_in_place();
        found = check_up(where_, *ledger_);
    } catch (const std::exception& e) {
        found.push_back(
            {finding::grade::problem, e.what(), "mend what the message names; until then nothing is granted"});
    }
    done(std::move(found));
}

// The caller's thread waits where whoever lets it in wakes it, and then looks for itself.
void host_store::sleep(spi::sleeper& who) {
    if (!connected_.load(std::memory_order_acquire)) return store::sleep(who);
    std::atomic<std::uint32_t>& berth = ledger_->berth(who.berth);
    std::uint32_t seen = seen_before_asking.berth == &berth ? seen_before_asking.value : berth.load();
    seen_before_asking = {};
    while (true) {
        int was = spi::sleeper::awake;
        if (!who.is.compare_exchange_strong(was, spi::sleeper::asleep)) return;
        ledger::sleep(berth, seen);
        seen = berth.load();
        was = spi::sleeper::asleep;
        if (!who.is.compare_exchange_strong(was, spi::sleeper::awake)) return;
        if (!closed_) look(ours_.at_berth(who.berth), false);
    }
}

void host_store::wake(spi::sleeper& who) noexcept {
    const std::uint32_t berth = who.berth;
    if (who.is.exchange(spi::sleeper::answered) != spi::sleeper::asleep) return;
    who.is.notify_one();
    if (connected_.load(std::memory_order_acquire)) ledger::wake(ledger_->berth(berth));
}

// Who of ours was granted, or thrown out, meanwhile. Closely: also whether whoever is in the way lives.
void host_store::look(const own_claims::found& at_these, bool closely) {
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
                     } else {
                         lost = !state.find_waiter(of);
                     }
                     return 0;
                 });
        } catch (const std::exception&) {
            continue;  // looked at again soon
        }
        if (granted && ours_.stops_waiting(id)) around_.events.granted(known.name, id, *granted);
        if (lost && ours_.forget(id)) around_.events.lost(known.name, id);
    }
}

// Nobody will be let in by files that others no longer find: who waits there is sent away, and told why when it asks anew.
bool host_store::still_in_place() {
    try {
        check_files(boot_clock::now());
        return true;
    } catch (const std::exception&) {
        for (const auto& one : ours_.waiting())
            if (ours_.forget(one.first)) around_.events.lost(one.second.name, one.first);
        return false;
    }
}

void host_store::look_later() {
    if (looking_.exchange(true) || closed_) return;
    try {
        around_.clock.at(around_.clock.now() + look_every, [this] {
            if (closed_) return;
            looking_ = false;
            const bool paid = pay();
            const own_claims::found waiting = ours_.waiting();
            if (!waiting.empty() && still_in_place()) look(waiting, true);
            if (!waiting.empty() || !paid) look_later();
        });
    } catch (const std::exception&) {  // no timer to be had: the next that waits tries again
        looking_ = false;
    }
}

void host_store::close() noexcept {
    if (closed_.exchange(true)) return;
    ours_.close();
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
        if (!pay()) ledger_->give_up(session_);
    } catch (const std::exception&) {
        ledger_->give_up(session_);  // whoever meets its claims buries them
    }
    bells_->take_down(session_);
}

}  // namespace

spi::store_factory open(const base::url& address) {
    return [where = place::of(address)](const spi::context& around) {
        return std::make_unique<host_store>(where, around);
    };
}

}  // namespace mortise::inline v0::stores::host
