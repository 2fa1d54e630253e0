// Random histories of claims in a simulated store that keeps a line. Requests are carried out late or not at all, answers get
// lost, leases end, keys are taken away, callers give up. Checked at every step: what is granted fits and its counters rise, each
// question is answered once, and nothing is granted after its release. At the end: everybody who waits is granted in turn,
// woken only by what it watches; then all are released, everything late arrives, and nothing may be left in the line.
//
// A failing history prints its seed; MORTISE_TEST_SEED=<seed> runs it alone, and tells its steps.
#include "base/history_steps.hpp"
#include "base/queued_claim.hpp"
#include "support/seeds.hpp"
#include "support/waiting.hpp"

#include <mortise/error.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace mortise::base::queued_claim_histories {
namespace {

using kind = queued_claim::action::kind;
using where = queued_claim::action::where;
using verdict = line_verdict::verdict;
using claim_is = spi::claim_answer::verdict;
using testing::histories::dice;

// Ways to use the machine wrongly, or to be without one of its rules.
enum class flaw {
    none,
    leaves_no_marks,           // `late` is ignored
    takes_it_for_ordered,      // though requests may be late
    takes_silence_for_no,      // a request that was not answered is said to be not done
    sends_what_is_not_wanted,  // a request to enter that was released before it was sent
    forgets_to_look_again,     // what happens while a request is under way
    drops_what_may_come_back,  // a claim that is over, but of which something is late
};

constexpr std::uint32_t all = 1U << 31U;

class claim_history {
public:
    claim_history(std::uint64_t seed, flaw what, bool tells)
        : random_(seed), flaw_(what), tells_(tells), ordered_(random_.one_in(2) && what == flaw::none) {
        const std::array<std::uint32_t, 4> capacities{1, 1, 3, all};
        capacity_ = capacities.at(random_.below(4));
    }

    std::optional<std::string> run() {
        for (int i = 0; i < 70 && !found_; ++i) any_step();
        for (int i = 0; i < 3000 && !found_; ++i)
            if (!settle() && !release_one_hold()) break;
        for (const auto& one : claims_)
            if (one->core == core_is::queued) fail(*one, "waits, though nobody holds and nothing is under way");
        for (const auto& one : claims_)
            if (one->core == core_is::asking) fail(*one, "is not answered");
        for (int i = 0; i < 3000 && !found_; ++i) {
            for (const auto& one : claims_)
                if (needs_release(*one)) release(*one);
            if (!settle()) break;
        }
        if (!found_) judge_the_end();
        return found_;
    }

    std::uint64_t grants = 0, exchanges = 0, stamps = 0, late = 0, lost = 0;

private:
    enum class core_is { nothing, asking, queued, held, ended, releasing, released };

    struct claim {
        claim_id id{};
        std::size_t client = 0;
        std::uint32_t weight = 1;
        claim_id instead_of{};
        std::unique_ptr<queued_claim> machine{};
        core_is core = core_is::nothing;
        bool queue = false;
        bool asks = false;  // an answer is owed
        bool release_owed = false;
        bool release_unknown = false;  // and so it is asked for again, or remembered
        bool went_unanswered = false;  // some request, as the core knows it
        bool told_unknown = false;     // so it asks again
        bool forgotten = false;
        bool replaced = false;
        bool retries = false;
        bool watches_its_hold = false;
        std::uint64_t counter = 0;
        std::vector<claim_id> watched{};
        std::uint64_t lease = 0;  // 0: none yet
        std::uint64_t floor = 0;  // these as it has seen them
        std::uint64_t revision = 0;
        std::uint64_t written = 0;
    };

    struct entry {
        line_entry at{};
        std::uint64_t lease = 0;
    };

    struct request {
        claim* of = nullptr;
        queued_claim::action what{};
        std::uint64_t lease = 0, floor = 0, revision = 0, written = 0;
        bool sent = false;
        bool given_up = false;
        std::function<void(queued_claim&, queued_claim::ticket)> answer{};  // once it was carried out
    };

    struct ended_hold {
        std::uint32_t weight;
        std::uint64_t counter;
    };

    // What may happen.
    void any_step() {
        switch (random_.below(16)) {
            case 0:
            case 1:
                return arrive();
            case 2:
                return ask_again();
            case 3:
                return release_any();
            case 4:
                return exchange_a_hold();
            case 5:
                return fire_any_retry();
            case 6:
                if (random_.one_in(4)) end_a_lease(random_.below(2));
                return;
            case 7:
                if (random_.one_in(4)) take_away();
                return;
            case 8:
                return ordered_ ? reconnect(random_.below(2)) : give_up_any();
            case 9:
                if (random_.one_in(4)) expire_any();
                return;
            default:
                advance_any();
        }
    }

    // Everything that is under way, and nothing new. False: nothing is.
    bool settle() {
        if (!requests_.empty()) {
            advance_any();
            return true;
        }
        for (const auto& one : claims_)
            if (one->retries) {
                fire_retry(*one);
                return true;
            }
        for (const auto& one : claims_)
            if (alive(*one) && one->told_unknown) {
                ask(*one);
                return true;
            }
        return false;
    }

    void arrive(claim_id instead = {}, std::size_t client = 2) {
        if (claims_.size() > 12) return;
        auto made = std::make_unique<claim>();
        made->id = {{++ids_, 1}};
        made->client = client < 2 ? client : random_.below(2);
        made->weight = random_.one_in(2) ? capacity_ : 1 + static_cast<std::uint32_t>(random_.below(capacity_));
        made->instead_of = instead;
        made->queue = !random_.one_in(3);
        const bool believed = ordered_ || flaw_ == flaw::takes_it_for_ordered;
        made->machine = std::make_unique<queued_claim>(queued_claim::rules{.ordered = believed,
                                                                           .looks_first = ordered_ || random_.one_in(3),
                                                                           .confirms = random_.one_in(2),
                                                                           .describes = random_.one_in(2),
                                                                           .ends_own_lease = random_.one_in(4),
                                                                           .replaces = instead != claim_id{},
                                                                           .capacity = capacity_});
        claims_.push_back(std::move(made));
        ask(*claims_.back());
    }

    void exchange_a_hold() {
        std::vector<claim*> held;
        for (const auto& one : claims_)
            if (one->core == core_is::held) held.push_back(one.get());
        if (held.empty()) return;
        const claim& old = *held[random_.below(held.size())];
        if (std::ranges::none_of(claims_, [&](const auto& one) { return one->instead_of == old.id && alive(*one); }))
            arrive(old.id, old.client);
    }

    void ask(claim& one) {
        if (one.asks) one.went_unanswered = true;
        one.asks = true;
        one.told_unknown = false;
        if (one.core != core_is::queued && one.core != core_is::held) one.core = core_is::asking;
        run(one, one.machine->ask(one.queue), "ask");
    }

    void ask_again() {
        claim* one = pick([&](const claim& c) { return c.core == core_is::asking || c.core == core_is::queued; });
        if (one == nullptr) return;
        if (random_.one_in(6)) one->queue = !one->queue;
        ask(*one);
    }

    static bool alive(const claim& one) { return one.core < core_is::ended; }

    bool needs_release(const claim& one) const {
        if (one.release_owed || one.core == core_is::released || one.core == core_is::nothing) return false;
        if (one.core != core_is::ended) return true;
        return one.went_unanswered && !one.forgotten && flaw_ != flaw::drops_what_may_come_back;
    }

    void release(claim& one) {
        if (one.core == core_is::held) ended_.push_back({one.weight, one.counter});
        one.core = core_is::releasing;
        if (one.forgotten) {  // the store remembers that it has ended
            one.core = core_is::released;
            return;
        }
        one.release_owed = true;
        run(one, one.machine->release(), "release");
    }

    void release_any() {
        if (claim* one = pick([&](const claim& c) { return c.core != core_is::released && !c.release_owed; }))
            if (needs_release(*one)) release(*one);
    }

    // Of whoever is in the way: it holds, or the core releases it because a request was not answered.
    bool release_one_hold() {
        claim* one = pick(
            [&](const claim& c) { return needs_release(c) && c.core != core_is::queued && c.core != core_is::asking; });
        if (one == nullptr) return false;
        release(*one);
        return true;
    }

    void expire_any() {
        claim* one = pick([](const claim& c) { return c.core == core_is::held && !c.forgotten; });
        if (one == nullptr) return;
        end_hold(*one);
        run(*one, one->machine->expire(), "expire");
    }

    void fire_any_retry() {
        if (claim* one = pick([](const claim& c) { return c.retries; })) fire_retry(*one);
    }

    void fire_retry(claim& one) {
        one.retries = false;
        clock_ += 100;
        if (!one.forgotten) run(one, one.machine->retry(), "retry");
    }

    // The line changes.
    void entry_gone(const claim_id& id) {
        for (const auto& one : claims_) {
            if (one->forgotten) continue;
            if (one->id == id && one->watches_its_hold) run(*one, one->machine->vanished(), "vanished");
            if (one->forgotten || std::erase(one->watched, id) == 0) continue;
            if (flaw_ == flaw::forgets_to_look_again && one->machine->busy()) continue;
            run(*one, one->machine->woken(), "woken");
        }
    }

    void erase(const claim_id& id) {
        const auto at = std::ranges::find(line_, id, [](const entry& one) { return one.at.id; });
        if (at == line_.end()) return;
        line_.erase(at);
        gone_at_[id] = ++revision_;
        if (line_.empty()) floor_ = 0;
        gone_.push_back(id);
    }

    void tell_who_is_gone() {
        for (const claim_id& id : std::exchange(gone_, {})) entry_gone(id);
    }

    void take_away() {
        if (line_.empty()) return;
        const claim_id id = line_[random_.below(line_.size())].at.id;
        say("somebody removes #" + std::to_string(id.bits[0]));
        if (claim* one = claim_of(id); one != nullptr && one->core == core_is::held) end_hold(*one);
        erase(id);
        tell_who_is_gone();
    }

    void end_hold(claim& one) {
        ended_.push_back({one.weight, one.counter});
        one.core = core_is::ended;
    }

    void end_a_lease(std::size_t client) {
        const std::uint64_t over = leases_.at(client);
        leases_.at(client) = ++last_lease_;
        say("lease " + std::to_string(over) + " ends");
        std::vector<claim_id> gone;
        for (const entry& one : line_)
            if (one.lease == over) gone.push_back(one.at.id);
        for (const claim_id& id : gone) erase(id);
        for (const auto& one : claims_) {
            if (one->client != client || one->forgotten || (!ordered_ && one->lease != over)) continue;
            if (one->core == core_is::held) end_hold(*one);
            one->lease = 0;
            run(*one, one->machine->lease_over(), "lease over");
        }
        if (ordered_) fail_all(client, queued_claim::fate::lease_over);
        tell_who_is_gone();
    }

    // Requests.
    void send(claim& of, const queued_claim::action& what) {
        requests_.push_back({.of = &of,
                             .what = what,
                             .lease = of.lease,
                             .floor = of.floor,
                             .revision = of.revision,
                             .written = of.written});
        if (ordered_) send_now(requests_.back());
    }

    // A store may take its time before it sends. False: it is not wanted any more.
    bool send_now(request& one) {
        if (one.sent) return true;
        one.sent = true;
        if (one.what.what != kind::enter) return true;
        const bool wanted = one.of->machine->entry_sent(one.what.ticket);
        if (!wanted && flaw_ != flaw::sends_what_is_not_wanted) return false;
        if (one.of->lease == 0) one.of->lease = leases_.at(one.of->client);
        one.lease = one.of->lease;
        return true;
    }

    void advance_any() {
        if (requests_.empty()) return;
        std::size_t which = random_.below(requests_.size());
        if (ordered_) {  // the first of its client
            const std::size_t client = requests_[which].of->client;
            which = 0;
            while (requests_[which].of->client != client) ++which;
        }
        advance(which);
    }

    void advance(std::size_t which) {
        request& one = requests_[which];
        if (!one.sent) {
            if (send_now(one)) return;
            request not_sent = take(which);
            return answer(not_sent, [](queued_claim& m, queued_claim::ticket of) {
                return m.failed(of, queued_claim::fate::not_done, {.reason = errc::cancelled});
            });
        }
        if (!one.answer) {
            carry_out(one);
            if (one.given_up) {
                ++late;
                take(which);
            }
            return tell_who_is_gone();
        }
        request done = take(which);
        done.answer(*done.of->machine, done.what.ticket);
    }

    request take(std::size_t which) {
        request one = std::move(requests_[which]);
        requests_.erase(requests_.begin() + static_cast<std::ptrdiff_t>(which));
        return one;
    }

    template <class Event>
    void answer(const request& of, Event event) {
        if (!of.of->forgotten) run(*of.of, event(*of.of->machine, of.what.ticket), "answer");
    }

    // No answer. It may have been carried out; or it may be, later.
    void give_up_any() {
        std::vector<std::size_t> open;
        for (std::size_t i = 0; i < requests_.size(); ++i)
            if (requests_[i].sent && !requests_[i].given_up) open.push_back(i);
        if (open.empty()) return;
        const std::size_t which = open[random_.below(open.size())];
        request copy = requests_[which];
        if (copy.answer || random_.one_in(3))
            take(which);
        else
            requests_[which].given_up = true;
        fail_unsure(copy);
    }

    void fail_unsure(const request& one) {
        const auto what =
            flaw_ == flaw::takes_silence_for_no ? queued_claim::fate::not_done : queued_claim::fate::unsure;
        answer(one, [what](queued_claim& m, queued_claim::ticket of) {
            return m.failed(of, what, {.reason = errc::unreachable});
        });
    }

    // A connection breaks: some of the first requests were carried out, the others never are.
    void reconnect(std::size_t client) {
        say("client " + std::to_string(client) + " reconnects");
        std::size_t done = random_.below(3);
        for (request& one : requests_)
            if (one.of->client == client && !one.answer && done > 0) {
                carry_out(one);
                --done;
            }
        fail_all(client, queued_claim::fate::unsure);
        tell_who_is_gone();
    }

    void fail_all(std::size_t client, queued_claim::fate what) {
        std::deque<request> those;
        for (std::size_t i = 0; i < requests_.size();)
            if (requests_[i].of->client == client && requests_[i].what.ticket != 0)
                those.push_back(take(i));
            else
                ++i;
        for (const request& one : those)
            answer(one, [&](queued_claim& m, queued_claim::ticket of) {
                return m.failed(of, what, {.reason = errc::unreachable});
            });
    }

    // The store's side.
    entry* find(const claim_id& id) {
        const auto at = std::ranges::find(line_, id, [](const entry& one) { return one.at.id; });
        return at == line_.end() ? nullptr : &*at;
    }

    std::vector<line_entry> shape() const {
        std::vector<line_entry> some;
        for (const entry& one : line_) some.push_back(one.at);
        return some;
    }

    queued_claim::line_view view_of(const claim& one) {
        queued_claim::line_view view;
        std::vector<line_entry> some = shape();
        const entry* mine = find(one.id);
        view.in_line = mine != nullptr;
        view.others = std::ranges::any_of(some, [&](const line_entry& e) { return e.id != one.id; });
        if (mine == nullptr)
            some.push_back({.id = one.id,
                            .arrived = revision_ + 1,
                            .written = revision_ + 1,
                            .capacity = capacity_,
                            .weight = one.weight,
                            .instead_of = one.instead_of});
        view.verdict = judge(some, one.id, mine != nullptr ? floor_ : 0);
        if (mine != nullptr) {
            view.counter = mine->at.counter();
            view.took_place = mine->at.place != 0;
        }
        std::erase_if(some, [&](const line_entry& e) {
            const claim* other = claim_of(e.id);
            return other != nullptr && other->client == one.client && other->machine->leaves();
        });
        view.only_leavers = view.verdict.is == verdict::waits && judge(some, one.id, 0).is == verdict::holds;
        return view;
    }

    void carry_out(request& one) {
        claim& of = *one.of;
        say("carries out " + name_of(one.what.what) + " of #" + std::to_string(of.id.bits[0]));
        entry* mine = find(of.id);
        switch (one.what.what) {
            case kind::enter:
                return enter(one, mine);
            case kind::read:
                return answer_with_line(one);
            case kind::exchange:
                return exchange(one, mine);
            case kind::stamp:
                return stamp(one, mine);
            case kind::remove:
                return remove(one, mine);
            case kind::describe:
                return answer_later(one,
                                    [](queued_claim& m, queued_claim::ticket its) { return m.described(its, {}); });
            default:
                return answer_later(one, [](queued_claim& m, queued_claim::ticket its) { return m.confirmed(its); });
        }
    }

    // Answers carry the ticket they were asked with.
    template <class Event>
    void answer_later(request& one, Event event) {
        claim& of = *one.of;
        one.answer = [this, &of, event](queued_claim&, queued_claim::ticket its) {
            request with{.of = &of};
            with.what.ticket = its;
            answer(with, event);
        };
    }

    void answer_with_line(request& one) {
        claim& of = *one.of;
        queued_claim::line_view view = view_of(of);
        const entry* mine = find(of.id);
        const std::uint64_t lease = mine != nullptr ? mine->lease : 0;
        const std::uint64_t written = mine != nullptr ? mine->at.written : 0;
        answer_later(one, [this, &of, view, lease, written, floor = floor_, revision = revision_](
                              queued_claim& m, queued_claim::ticket its) mutable {
            of.floor = floor;
            of.revision = revision;
            of.written = written;
            if (view.in_line && lease != of.lease)
                view.refusal = spi::claim_answer{.is = claim_is::unknown, .reason = errc::unreachable};
            return m.seen(its, view, spi::time_point{} + std::chrono::milliseconds{++clock_});
        });
    }

    void enter(request& one, const entry* mine) {
        claim& of = *one.of;
        if (one.lease != leases_.at(of.client))
            return answer_later(one, [&of](queued_claim& m, queued_claim::ticket its) {
                of.lease = 0;
                return m.failed(its, queued_claim::fate::lease_over, {.reason = errc::unreachable});
            });
        if (marks_.contains(of.id))
            return answer_later(one, [](queued_claim& m, queued_claim::ticket its) {
                return m.failed(its, queued_claim::fate::not_done,
                                {.is = claim_is::refused, .reason = errc::cancelled});
            });
        const bool may = one.what.how == where::at_end || (one.what.how == where::if_empty && line_.empty()) ||
                         (one.what.how == where::if_unchanged && revision_ == one.revision);
        if ((mine == nullptr || ordered_) && (may || ordered_)) {
            ++revision_;
            line_.push_back({.at = {.id = of.id,
                                    .arrived = revision_,
                                    .written = revision_,
                                    .capacity = capacity_,
                                    .weight = of.weight,
                                    .instead_of = of.instead_of},
                             .lease = one.lease});
        }
        if (find(of.id) != nullptr && random_.one_in(4))
            return answer_later(one, [](queued_claim& m, queued_claim::ticket its) { return m.entered(its); });
        answer_with_line(one);
    }

    void exchange(request& one, entry* mine) {
        const auto& guards = one.what.verdict->guards;
        entry* old = find(one.of->instead_of);
        const bool may = mine != nullptr && old != nullptr && floor_ == one.floor &&
                         std::ranges::all_of(guards, [&](const claim_id& id) { return find(id) != nullptr; });
        if (!may) return answer_later(one, [](queued_claim& m, queued_claim::ticket its) { return m.changed(its); });
        mine->at.place = old->at.stands_at();
        mine->at.stamped = true;
        const std::uint64_t counter = mine->at.written = floor_ = ++revision_;
        ++exchanges;
        if (claim* before = claim_of(one.of->instead_of)) {
            if (before->core == core_is::held) ended_.push_back({before->weight, before->counter});
            before->replaced = true;
        }
        const std::uint64_t floor = floor_;
        erase(one.of->instead_of);
        floor_ = floor;
        answer_later(one, [counter](queued_claim& m, queued_claim::ticket its) { return m.exchanged(its, counter); });
    }

    void stamp(request& one, entry* mine) {
        if (mine == nullptr || floor_ != one.floor || mine->at.written != one.written)
            return answer_later(one, [](queued_claim& m, queued_claim::ticket its) { return m.changed(its); });
        ++stamps;
        mine->at.stamped = true;
        const std::uint64_t counter = mine->at.written = floor_ = ++revision_;
        answer_later(one, [counter](queued_claim& m, queued_claim::ticket its) { return m.stamped(its, counter); });
    }

    void remove(request& one, const entry* mine) {
        queued_claim::removal how;
        how.was_there = mine != nullptr;
        how.took_place = mine != nullptr && mine->at.place != 0;
        how.lease_over = one.lease != leases_.at(one.of->client);
        erase(one.of->id);
        if (!how.was_there && random_.one_in(2)) how.others = !line_.empty();
        if (one.what.late && flaw_ != flaw::leaves_no_marks) marks_.insert(one.of->id);
        answer_later(one, [how](queued_claim& m, queued_claim::ticket its) { return m.removed(its, how); });
    }

    // What the machine wants done.
    void run(claim& of, const queued_claim::actions& todo, const char* because) {
        for (const queued_claim::action& what : todo) {
            say(std::string(because) + " of #" + std::to_string(of.id.bits[0]) + ": " + name_of(what.what));
            if (of.forgotten) return fail(of, "does something after it was forgotten");
            do_one(of, what);
        }
        if (!of.forgotten && of.machine->is() == queued_claim::phase::over && !of.went_unanswered)
            fail(of, "is over, but not forgotten, and the core does not know of anything unanswered");
    }

    void do_one(claim& of, const queued_claim::action& what) {
        switch (what.what) {
            case kind::watch:
                of.watched.clear();
                for (const claim_id& id : what.verdict->watch) {
                    of.watched.push_back(id);
                    if (gone_at_[id] > of.revision) soon(of, [](queued_claim& m) { return m.woken(); });
                }
                return;
            case kind::unwatch:
                of.watched.clear();
                of.watches_its_hold = false;
                return;
            case kind::watch_hold:
                of.watches_its_hold = true;
                if (gone_at_[of.id] > of.revision) soon(of, [](queued_claim& m) { return m.vanished(); });
                return;
            case kind::linger:
            case kind::retry:
                of.retries = true;
                return;
            case kind::answer:
                if (!std::exchange(of.asks, false)) return fail(of, "is answered, but nobody has asked");
                return answered(of, *what.answer_is);
            case kind::granted:
                if (of.core == core_is::asking) return fail(of, "is pushed a grant, but nobody was told that it waits");
                return granted(of, what.answer_is->grant.counter);
            case kind::lost:
                ++lost;
                if (of.core == core_is::held) ended_.push_back({of.weight, of.counter});
                if (of.core >= core_is::releasing) return fail(of, "is lost after its release");
                of.core = core_is::ended;
                return;
            case kind::released:
                return released(of, what.released_as);
            case kind::old_gone:
                if (claim* old = claim_of(of.instead_of); old != nullptr && !old->forgotten) {
                    if (!old->replaced) return fail(*old, "is said to be replaced, and is not");
                    run(*old, old->machine->replaced(), "replaced");
                }
                return;
            case kind::old_stays:
                if (claim* old = claim_of(of.instead_of); old != nullptr && !old->forgotten)
                    run(*old, old->machine->not_replaced(), "not replaced");
                return;
            case kind::forget:
                of.forgotten = true;
                if (of.asks) fail(of, "is forgotten before it is answered");
                if (of.release_owed || of.release_unknown) fail(of, "is forgotten before its release is answered");
                return;
            case kind::exchange:
                if (claim* old = claim_of(of.instead_of); old != nullptr && !old->forgotten) old->machine->yield();
                return send(of, what);
            default:
                return send(of, what);
        }
    }

    // As a watch on a key that has gone already.
    template <class Event>
    void soon(claim& of, Event event) {
        request one{.of = &of, .sent = true, .given_up = true};
        answer_later(one, [event](queued_claim& m, queued_claim::ticket) { return event(m); });
        requests_.push_back(std::move(one));
    }

    void answered(claim& of, const spi::claim_answer& said) {
        if (of.core >= core_is::releasing) {
            if (said.is != claim_is::refused) fail(of, "is answered after its release");
            return;
        }
        switch (said.is) {
            case claim_is::granted:
                return granted(of, said.grant.counter);
            case claim_is::queued:
                of.core = core_is::queued;
                return;
            case claim_is::unknown:
                of.went_unanswered = of.told_unknown = true;
                return;
            default:
                if (of.core == core_is::held) ended_.push_back({of.weight, of.counter});
                of.core = core_is::ended;
        }
    }

    void granted(claim& of, std::uint64_t counter) {
        if (of.core >= core_is::releasing) return fail(of, "is granted after its release");
        if (of.core == core_is::ended) return;  // by time, or taken away: the core is told so
        if (of.core == core_is::held) return;
        ++grants;
        if (claim* old = claim_of(of.instead_of); old != nullptr && alive(*old)) old->core = core_is::ended;
        of.core = core_is::held;
        of.counter = counter;
        const entry* mine = find(of.id);
        if (mine == nullptr || gone_at_[of.id] > of.revision) return;  // taken away meanwhile, and about to be told
        if (judge(shape(), of.id, 0).is != verdict::holds) return fail(of, "is granted, but does not hold");
        if (mine->at.counter() != counter) return fail(of, "is granted with another counter");
        for (const ended_hold& before : ended_)
            if (std::uint64_t{before.weight} + of.weight > capacity_ && before.counter >= counter)
                fail(of, "is granted counter " + std::to_string(counter) + " after " + std::to_string(before.counter));
    }

    void released(claim& of, spi::release_answer how) {
        if (!std::exchange(of.release_owed, false) && !of.release_unknown)
            return fail(of, "is answered a release that nobody asked for");
        of.release_unknown = how == spi::release_answer::unknown;
        if (of.release_unknown) return;
        if (find(of.id) != nullptr) return fail(of, "is released, but in the line");
        of.core = core_is::released;
    }

    void judge_the_end() {
        for (const auto& one : claims_) {
            if (one->asks) fail(*one, "is owed an answer");
            if (one->release_owed) fail(*one, "is owed an answer to its release");
            if (!one->forgotten && flaw_ == flaw::none) fail(*one, "is not forgotten");
        }
        for (const entry& one : line_)
            if (!found_) found_ = "#" + std::to_string(one.at.id.bits[0]) + " is left in the line";
    }

    // Helpers.
    template <class Which>
    claim* pick(Which which) {
        std::vector<claim*> some;
        for (const auto& one : claims_)
            if (which(*one)) some.push_back(one.get());
        return some.empty() ? nullptr : some[random_.below(some.size())];
    }
    claim* claim_of(const claim_id& id) {
        const auto at = std::ranges::find(claims_, id, [](const auto& one) { return one->id; });
        return at == claims_.end() ? nullptr : at->get();
    }
    void fail(const claim& of, const std::string& why) {
        if (!found_) found_ = "#" + std::to_string(of.id.bits[0]) + " " + why + (ordered_ ? " (ordered)" : "");
        say(*found_);
        for (const entry& e : line_) say("  in the line: #" + std::to_string(e.at.id.bits[0]));
    }
    void say(const std::string& what) const {
        if (tells_) std::cout << what << '\n';
    }
    static std::string name_of(kind what) {
        static constexpr std::array<const char*, 19> names{
            "enter", "read",     "describe",   "exchange",  "stamp", "confirm", "remove",
            "watch", "unwatch",  "watch_hold", "linger",    "retry", "answer",  "granted",
            "lost",  "released", "old_gone",   "old_stays", "forget"};
        return names.at(static_cast<std::size_t>(what));
    }

    dice random_;
    flaw flaw_;
    bool tells_;
    bool ordered_;
    std::uint32_t capacity_ = 1;
    std::uint64_t ids_ = 0, revision_ = 0, floor_ = 0, last_lease_ = 2;
    std::int64_t clock_ = 0;
    std::array<std::uint64_t, 2> leases_{1, 2};
    std::vector<entry> line_;
    std::vector<claim_id> gone_;
    std::map<claim_id, std::uint64_t> gone_at_;
    std::set<claim_id> marks_;
    std::deque<request> requests_;
    std::vector<std::unique_ptr<claim>> claims_;
    std::vector<ended_hold> ended_;
    std::optional<std::string> found_;
};

struct tally {
    std::optional<std::string> found{};
    std::uint64_t grants = 0, exchanges = 0, stamps = 0, late = 0, lost = 0;
};

tally run_histories(std::uint64_t histories, flaw what) {
    tally sums;
    sums.found = testing::first_complaint(histories, [&](std::uint64_t seed) {
        claim_history one(seed, what, testing::lone_seed() && what == flaw::none);
        const auto found = one.run();
        sums.grants += one.grants;
        sums.exchanges += one.exchanges;
        sums.stamps += one.stamps;
        sums.late += one.late;
        sums.lost += one.lost;
        return found;
    });
    return sums;
}

TEST(queued_claim_histories, leave_nothing_behind_and_answer_everybody_once) {
    const tally sums = run_histories(testing::scale(100'000), flaw::none);
    EXPECT_FALSE(sums.found) << *sums.found;
    std::cout << "grants=" << sums.grants << " exchanges=" << sums.exchanges << " stamps=" << sums.stamps
              << " late=" << sums.late << " lost=" << sums.lost << '\n';
    if (!testing::lone_seed()) {
        EXPECT_GT(sums.grants, 1000u);
        EXPECT_GT(sums.exchanges, 50u);
        EXPECT_GT(sums.stamps, 10u);
        EXPECT_GT(sums.late, 1000u);
        EXPECT_GT(sums.lost, 100u);
    }
}

TEST(queued_claim_histories, removals_without_marks_are_convicted) {
    EXPECT_TRUE(run_histories(20'000, flaw::leaves_no_marks).found);
}
TEST(queued_claim_histories, late_requests_to_a_store_that_is_taken_for_ordered_are_convicted) {
    EXPECT_TRUE(run_histories(20'000, flaw::takes_it_for_ordered).found);
}
TEST(queued_claim_histories, requests_that_are_taken_for_not_done_are_convicted) {
    EXPECT_TRUE(run_histories(20'000, flaw::takes_silence_for_no).found);
}
TEST(queued_claim_histories, requests_that_are_sent_after_a_release_are_convicted) {
    EXPECT_TRUE(run_histories(20'000, flaw::sends_what_is_not_wanted).found);
}
TEST(queued_claim_histories, claims_that_do_not_look_again_are_convicted) {
    EXPECT_TRUE(run_histories(20'000, flaw::forgets_to_look_again).found);
}
TEST(queued_claim_histories, claims_that_are_forgotten_too_soon_are_convicted) {
    EXPECT_TRUE(run_histories(20'000, flaw::drops_what_may_come_back).found);
}

}  // namespace
}  // namespace mortise::base::queued_claim_histories
