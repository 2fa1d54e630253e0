#include "stores/host/host_store.hpp"

#include "base/descriptors.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "stores/host/bells.hpp"
#include "stores/host/checkup.hpp"
#include "stores/host/named_state.hpp"
#include "stores/host/place.hpp"
#include "stores/host/raw.hpp"
#include "stores/host/record.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <unordered_map>

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

const mortise::promises& promised() {
    static const mortise::promises all{
        .store = "host",
        .tokens = true,
        .fifo = true,
        .detached = true,
        .leases = true,
        .upgrades = true,
        .processes = true,
        .most_capacity = base::most_capacity,
        .default_lease = std::nullopt,  // the kernel tells when a holder died
        .reach = "processes of one machine",
        .exclusion =
            "Yes, also for a holder that is stopped: without a lease it keeps its lock while its process lives.",
        .fencing = "Yes: a later grant has a larger token, also after the machine was restarted.",
        .freed = "Within milliseconds of its process's death.",
        .assumes = {"One kernel: the directory is on a local file system."},
        .ends = {"The files are deleted or replaced while in use.",
                 "The directory is on a file system that others serve.",
                 "A hold with a lease is paused past it: another is let in, with a larger token."},
    };
    return all;
}

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

    const mortise::promises& promises() const noexcept override { return promised(); }
    void claim(const spi::claim_request&, spi::reply<spi::claim_answer>) override;
    void renew(std::span<const spi::renewal>, spi::reply<std::vector<spi::renewal_answer>>) override;
    void release(std::string_view name, const claim_id&, spi::reply<spi::release_answer>) override;
    void list(spi::reply<spi::listing>) override;
    void break_hold(const spi::break_request&, spi::reply<spi::break_answer>) override;
    void check(spi::reply<std::vector<finding>>) override;
    mortise::raw_limits raw_limits() const override { return raw_limits_in(where_); }
    void sleep(spi::sleeper& who) override;
    void wake(spi::sleeper& who) noexcept override;
    void close() noexcept override;

private:
    // A claim of this client, while it waits or holds.
    struct own_claim {
        std::string name;
        std::uint32_t berth = 0;
        block_number block = 0;
        bool waits = false;
    };
    using own_claims = std::unordered_map<claim_id, own_claim>;
    using found_claims = std::vector<own_claims::value_type>;

    void connect();
    void sit_down();
    void sweep();

    template <class Verb>
    auto with(std::string_view name, block_number hint, milliseconds patience, Verb&& verb);
    void check_files(spi::time_point now);
    bool alive(session who) const noexcept { return ledger_->alive(seat_of(who), who); }
    void bury(named_state& state, base::instant at, base::effects& out);
    spi::release_answer let_go(std::string_view name, const claim_id& id, block_number hint, milliseconds patience);
    bool pay();
    void tell(const std::string& name, const base::effects& out);
    void tell_granted(const std::string& name, const base::effects::notice& what);
    spi::claim_answer ask(const spi::claim_request& wanted);

    bool note(const spi::claim_request& wanted, block_number block, bool waits);
    bool stops_waiting(const claim_id& id);
    std::optional<own_claim> find(const claim_id& id);
    std::optional<own_claim> forget(const claim_id& id);
    template <class Which>
    found_claims ours(const Which& which);
    found_claims at_berth(std::uint32_t berth);
    void look(const found_claims& at_these, bool closely);
    void look_later();
    bool still_in_place();

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

    std::mutex mutex_;  // may be taken inside the ledger's lock, not around it
    own_claims ours_;
    std::unordered_map<std::uint32_t, claim_id> berths_;  // of those that wait
    std::vector<std::pair<std::string, claim_id>> owed_;  // releases that did not get through
    bool looking_ = false;
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
    static std::atomic<std::uint32_t> clients{1};
    ledger_ = ledger::open(where_);
    session_ = session_of(ledger_->seats().mine(), clients.fetch_add(1));
    const int directory = where_.open_directory();
    const mode_t mode = where_.file_mode(directory);
    ::close(directory);
    bells_ = std::make_unique<bells>(ledger_->directory(), session_, mode);
    try {
        around_.clock.watch(bells_->descriptor(), [this] {
            const bool lost = bells_->answer();
            if (!closed_) look(ours([&](const own_claim& c) { return c.waits || lost; }), false);
        });
    } catch (...) {
        bells_.reset();
        throw;
    }
}

// What processes left behind that are gone: their claims and their bells.
void host_store::sweep() {
    std::vector<std::pair<std::string, base::effects>> todo;
    {
        ledger::access in{*ledger_};
        std::map<session, bool> lives;  // asked once each
        in.each([&](block_number n) {
            const auto dead = [&](block_number c) {
                const auto [it, fresh] = lives.emplace(in.claim(c).session, true);
                if (fresh) it->second = alive(it->first);
                return !it->second;
            };
            bool any = in.name(n).holders.count + in.name(n).queue.count == 0;  // killed before it forgot the name
            for (block_number c = in.name(n).holders.first; c != 0; c = in.claim(c).next) any = any || dead(c);
            for (block_number c = in.name(n).queue.first; c != 0; c = in.claim(c).next) any = any || dead(c);
            if (!any) return;
            auto& [name, out] = todo.emplace_back(std::string(in.name(n).text()), base::effects{});
            named_state state{in, name};
            for (const auto& [who, is_there] : lives)
                if (!is_there) state.drop_session(who, base::instant::at(boot_clock::now()), out);
            state.finish();
        });
    }
    for (const auto& [name, out] : todo) tell(name, out);
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

// Ends the claims of processes that are gone, as far as they are in anybody's way.
void host_store::bury(named_state& state, base::instant at, base::effects& out) {
    std::set<session> living;  // asked once each
    while (true) {
        std::optional<session> gone;
        const auto check = [&](block_number n) {
            const base::kept_claim c = state.at(n);
            if (gone || c.detached || living.contains(c.session)) return;
            if (alive(c.session)) {
                living.insert(c.session);
            } else {
                gone = c.session;
            }
        };
        for (block_number n = state.first_holder(); n != 0; n = state.after(n)) check(n);
        if (const block_number first = state.first_in_queue()) check(first);
        if (!gone) return;
        state.drop_session(*gone, at, out);
        bells_->take_down(*gone);
    }
}

// With the ledger given back.
void host_store::tell(const std::string& name, const base::effects& out) {
    for (const auto& notice : out.lost) {
        if (notice.session != session_) {
            bells_->ring(notice.session, bells::call::lost);
            continue;
        }
        if (forget(notice.id)) around_.events.lost(name, notice.id);
    }
    for (const auto& notice : out.granted) tell_granted(name, notice);
}

void host_store::tell_granted(const std::string& name, const base::effects::notice& what) {
    if (what.session == session_) {
        if (stops_waiting(what.id)) around_.events.granted(name, what.id, what.grant);
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
        answer = {.is = find(wanted.id) ? unknown : refused,
                  .reason = said != nullptr ? said->code() : make_error_code(errc::unreachable),
                  .detail = e.what()};
    }
    if (answer.is == spi::claim_answer::verdict::queued) look_later();
    done(std::move(answer));
}

spi::claim_answer host_store::ask(const spi::claim_request& wanted) {
    using enum spi::claim_answer::verdict;
    const auto known = find(wanted.id);  // then it is asked again, by the io thread
    const auto patience = known ? short_patience : ledger::patience;
    return with(wanted.name, known ? known->block : 0, patience,
                [&](named_state& state, base::instant at, base::effects& out) {
                    check_files(at.now);
                    const auto once = [&] {
                        return state.claim(base::kept_claim::of(wanted, session_, from_), wanted.capacity, wanted.queue,
                                           at, out);
                    };
                    base::verdict said = once();
                    const bool stopped_waiting = known && said.is == busy;
                    if (stopped_waiting) {
                        forget(wanted.id);
                    } else if (said.is == busy || said.reason == errc::kind_mismatch) {  // in the way of the living?
                        bury(state, at, out);
                        if (said.is == busy || state.idle()) said = once();
                    }
                    if ((said.is == granted || said.is == queued) && !note(wanted, state.hint(), said.is == queued)) {
                        state.release(wanted.id, session_, at, out);  // the client has just left
                        return spi::claim_answer{.is = refused, .reason = errc::closed};
                    }
                    return std::move(said).answer(wanted);
                });
}

// Before anybody else can do anything to it.
bool host_store::note(const spi::claim_request& wanted, block_number block, bool waits) {
    std::scoped_lock guard{mutex_};
    if (closed_) return false;
    const auto [it, fresh] = ours_.try_emplace(wanted.id);
    it->second.berth = wanted.berth;
    it->second.waits = waits;
    if (fresh) it->second.name = wanted.name;
    if (block != 0) it->second.block = block;
    if (waits && wanted.berth != 0) {
        berths_[wanted.berth] = wanted.id;
    } else if (!waits) {
        berths_.erase(wanted.berth);
    }
    return true;
}

// True: it did wait.
bool host_store::stops_waiting(const claim_id& id) {
    std::scoped_lock guard{mutex_};
    const auto it = ours_.find(id);
    if (it == ours_.end() || !std::exchange(it->second.waits, false)) return false;
    if (const auto at = berths_.find(it->second.berth); at != berths_.end() && at->second == id) berths_.erase(at);
    return true;
}

auto host_store::find(const claim_id& id) -> std::optional<own_claim> {
    std::scoped_lock guard{mutex_};
    const auto it = ours_.find(id);
    return it == ours_.end() ? std::nullopt : std::optional{it->second};
}

auto host_store::forget(const claim_id& id) -> std::optional<own_claim> {
    std::scoped_lock guard{mutex_};
    const auto it = ours_.find(id);
    if (it == ours_.end()) return std::nullopt;
    own_claim was = std::move(it->second);
    ours_.erase(it);
    if (const auto at = berths_.find(was.berth); was.waits && at != berths_.end() && at->second == id)
        berths_.erase(at);
    return was;
}

template <class Which>
auto host_store::ours(const Which& which) -> found_claims {
    found_claims found;
    std::scoped_lock guard{mutex_};
    for (const auto& one : ours_)
        if (which(one.second)) found.push_back(one);
    return found;
}

auto host_store::at_berth(std::uint32_t berth) -> found_claims {
    std::scoped_lock guard{mutex_};
    const auto at = berths_.find(berth);
    const auto it = at == berths_.end() ? ours_.end() : ours_.find(at->second);
    return it == ours_.end() ? found_claims{} : found_claims{*it};
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
    const auto mine = forget(id);
    try {
        connect();
        answer = let_go(name, id, mine ? mine->block : 0, release_patience);
    } catch (const std::exception&) {
        if (mine) {  // nobody else will do it while this process lives
            std::scoped_lock guard{mutex_};
            owed_.emplace_back(name, id);
        }
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
    while (true) {
        std::pair<std::string, claim_id> next;
        {
            std::scoped_lock guard{mutex_};
            if (owed_.empty()) return true;
            next = std::move(owed_.back());
            owed_.pop_back();
        }
        try {
            let_go(next.first, next.second, 0, short_patience);
        } catch (const std::exception&) {
            std::scoped_lock guard{mutex_};
            owed_.push_back(std::move(next));
            return false;
        }
    }
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
        if (!closed_) look(at_berth(who.berth), false);
    }
}

void host_store::wake(spi::sleeper& who) noexcept {
    const std::uint32_t berth = who.berth;
    if (who.is.exchange(spi::sleeper::answered) != spi::sleeper::asleep) return;
    who.is.notify_one();
    if (connected_.load(std::memory_order_acquire)) ledger::wake(ledger_->berth(berth));
}

// Who of ours was granted, or thrown out, meanwhile. Closely: also whether whoever is in the way lives.
void host_store::look(const found_claims& at_these, bool closely) {
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
        if (granted && stops_waiting(id)) around_.events.granted(known.name, id, *granted);
        if (lost && forget(id)) around_.events.lost(known.name, id);
    }
}

// Nobody will be let in by files that others no longer find: who waits there is sent away, and told why when it asks anew.
bool host_store::still_in_place() {
    try {
        check_files(boot_clock::now());
        return true;
    } catch (const std::exception&) {
        for (const auto& one : ours([](const own_claim& c) { return c.waits; }))
            if (forget(one.first)) around_.events.lost(one.second.name, one.first);
        return false;
    }
}

void host_store::look_later() {
    {
        std::scoped_lock guard{mutex_};
        if (std::exchange(looking_, true) || closed_) return;
    }
    try {
        around_.clock.at(around_.clock.now() + look_every, [this] {
            if (closed_) return;
            {
                std::scoped_lock guard{mutex_};
                looking_ = false;
            }
            const bool paid = pay();
            const found_claims waiting = ours([](const own_claim& c) { return c.waits; });
            if (!waiting.empty() && still_in_place()) look(waiting, true);
            if (!waiting.empty() || !paid) look_later();
        });
    } catch (const std::exception&) {  // no timer to be had: the next that waits tries again
        std::scoped_lock guard{mutex_};
        looking_ = false;
    }
}

void host_store::close() noexcept {
    {
        std::scoped_lock guard{mutex_};
        if (closed_.exchange(true) || !bells_) return;
    }
    around_.clock.unwatch(bells_->descriptor());
    try {
        std::set<std::string> names;
        for (const auto& one : ours([](const own_claim&) { return true; })) names.insert(one.second.name);
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
