#include "base/queued_claim.hpp"

#include "base/kinds.hpp"

#include <mortise/error.hpp>

#include <utility>

namespace mortise::inline v0::base {

namespace {

using phase = queued_claim::phase;
using action = queued_claim::action;
using kind = queued_claim::action::kind;
using facts = queued_claim::facts;
using presence = queued_claim::facts::presence;
using told = queued_claim::facts::told;
using is = line_verdict::verdict;
using claim_is = spi::claim_answer::verdict;
using release_is = spi::release_answer;

// A line that is fought over changes between reading and writing. After so many times, whoever asks decides.
constexpr int most_tries = 8;

// So long does a claim that does not queue give claims of the same client to leave the line.
constexpr std::chrono::seconds longest_linger{2};

spi::claim_answer cancelled() {
    return {.is = claim_is::refused, .reason = errc::cancelled};
}

// One event: what it changes, and what is to be done. One class because each function is an arrow of the picture in the
// header, and they lead to each other.
class step {
public:
    step(const queued_claim::rules& of, facts& now) : rules_(of), now_(now) {
        out_.reserve(queued_claim::usual_actions);
    }

    queued_claim::actions done() { return std::move(out_); }

    // The answer to the request that is under way, which is over then. False: nobody waits for it.
    bool answers(queued_claim::ticket of) {
        if (of != 0 && of == now_.entry_on_its_way) now_.entry_on_its_way = 0;
        if (of == 0 || of != now_.pending) return false;
        now_.pending = 0;
        return true;
    }

    // What is next for a claim that somebody asks for, or that was woken, while nothing is under way.
    void proceed() {
        now_.look_again = false;
        if (now_.is == phase::leaving) return leave();
        if (now_.entry == presence::there) return read(phase::reading);
        const bool unsure = now_.entry == presence::perhaps && rules_.ordered;
        if (unsure || (!now_.queue && rules_.looks_first)) return read(phase::looking);
        enter(how_it_enters());
    }

    void read_again() { read(phase::reading); }

    // It is in the line.
    void judge(const queued_claim::line_view& line, spi::time_point at) {
        now_.entry = presence::there;
        now_.counter = line.counter;
        now_.standing = line.standing;
        now_.tries = 0;
        if (line.took_place) old_gone();
        if (line.refusal) return withdraw(*line.refusal);
        switch (line.verdict.is) {
            case is::holds:
                if (line.verdict.to_be_stamped) return request(kind::stamp, phase::stamping);
                return grant();
            case is::may_exchange:
                return request(kind::exchange, phase::exchanging, verdict_of(line));
            case is::waits:
                old_stays();
                if (now_.queue) return wait(line);
                if (line.only_leavers && linger(at)) return;
                return busy(line);
            case is::absent:
                return thrown_out();
            default:
                old_stays();
                return withdraw(refusal_of(line.verdict));
        }
    }

    // It is not, and the verdict says what would be if it were.
    void judge_from_outside(const queued_claim::line_view& line, spi::time_point at) {
        if (now_.entry == presence::there) return thrown_out();
        const bool read_before = now_.is == phase::looking;
        if (read_before && rules_.ordered) {
            now_.entry = presence::absent;
            old_stays();
        }
        now_.standing = line.standing;
        if (line.refusal) return give_up(*line.refusal);
        if (now_.queue && read_before) return enter(action::where::at_end);
        // It was kept out: the claim has been released before.
        if (!read_before && how_it_enters() == action::where::at_end) return thrown_out();
        switch (line.verdict.is) {
            case is::holds:
            case is::may_exchange:
                if (++now_.tries <= most_tries)
                    return enter(rules_.replaces ? action::where::at_end : action::where::if_unchanged);
                now_.tries = 0;
                now_.is = phase::outside;
                return answer({.is = claim_is::unknown, .reason = errc::busy, .detail = "it is fought over"});
            case is::waits:
                if (line.only_leavers && linger(at)) return;
                return busy(line);
            default:
                return give_up(refusal_of(line.verdict));
        }
    }

    void grant() {
        if (rules_.confirms) return request(kind::confirm, phase::confirming);
        granted();
    }

    void granted() {
        now_.is = phase::held;
        now_.core_knows = told::granted;
        now_.was_granted = true;
        now_.look_again = false;
        tell(kind::unwatch);
        tell(kind::watch_hold);
        auto yes = make_spared<spi::claim_answer>();
        yes->is = claim_is::granted;
        yes->grant.counter = now_.counter;
        out_.push_back({.what = now_.asked ? kind::answer : kind::granted, .answer_is = std::move(yes)});
        now_.asked = false;
    }

    // It is known who holds, if anybody wants to know.
    void described() {
        if (!now_.queue) return not_to_be({.is = claim_is::busy, .standing = now_.standing});
        if (now_.entry != presence::there) return enter(action::where::at_end);
        now_.is = phase::waiting;
        if (now_.asked) now_.core_knows = told::queued;
        answer({.is = claim_is::queued, .standing = now_.standing});
        if (now_.look_again) proceed();
    }

    // Not to be: its entry goes, and then that is said.
    void withdraw(spi::claim_answer because) {
        now_.because = make_spared<spi::claim_answer>(std::move(because));
        remove(phase::withdrawing);
    }

    // The same of one that has no entry.
    void give_up(spi::claim_answer because) {
        if (rules_.ends_own_lease && now_.tried_to_enter) return withdraw(std::move(because));
        end_with(std::move(because));
    }

    // Its entry has gone, and not by us.
    void thrown_out() {
        if (!now_.asked && now_.core_knows == told::nothing) return to_outside();  // a caller asks again
        const bool to_be_told = !now_.asked && now_.core_knows != told::nothing;
        if (now_.entry == presence::there) now_.entry = presence::vanished;
        now_.pending = 0;
        answer(cancelled());
        if (to_be_told) tell(kind::lost);
        over();
    }

    void leave() {
        now_.is = phase::leaving;
        if (rules_.ordered && now_.pending != 0) return;  // after that
        if (rules_.ordered && now_.entry == presence::perhaps) return read(phase::leaving);
        const bool may_be_there = now_.entry == presence::there || now_.entry == presence::perhaps;
        if (may_be_there || may_come_back()) return remove(phase::leaving);
        settle({});
    }

    // It is not in the line any more. Has anybody taken the lock since it was granted?
    void settle(std::optional<bool> others) {
        if (!now_.was_granted || now_.ended == facts::end::by_exchange) return left(release_is::released);
        if (!now_.release_asked && !now_.release_due) return left(release_is::expired);
        if (!others) return read(phase::settling);
        left(*others ? release_is::taken_over : release_is::expired);
    }

    // What a claim that leaves has read.
    void settle_by(const queued_claim::line_view& line) {
        if (line.took_place) old_gone();
        if (line.in_line) {
            now_.entry = presence::there;
            return leave();
        }
        now_.entry = now_.entry == presence::there ? presence::vanished : presence::absent;
        if (may_come_back()) return leave();
        settle(line.others);
    }

    void removed(const queued_claim::removal& how) {
        const bool ours = how.was_there || (now_.removal_unanswered && !how.lease_over);
        if (now_.entry == presence::there || now_.entry == presence::perhaps)
            now_.entry = ours ? presence::absent : presence::vanished;
        now_.unsettled = now_.unsettled || may_come_back();
        now_.entry_unanswered = false;  // what is late was made harmless
        now_.entry_on_its_way = 0;
        if (how.took_place) old_gone();
        if (now_.is == phase::withdrawing) return end_with(*std::exchange(now_.because, {}));
        if (ours && now_.ended != facts::end::by_time) return left(release_is::released);
        settle(how.others);
    }

    void note_failure(kind request, queued_claim::fate what) {
        if (what == queued_claim::fate::lease_over) {
            now_.entry_unanswered = false;
            if (now_.entry == presence::perhaps) now_.entry = presence::absent;
            if (now_.entry == presence::there) now_.entry = presence::vanished;
        }
        if (what != queued_claim::fate::unsure) return;
        switch (request) {
            case kind::enter:
                now_.entry_unanswered = now_.unsettled = true;
                if (now_.entry != presence::there) now_.entry = presence::perhaps;
                return;
            case kind::exchange:
                now_.unsettled = true;
                if (rules_.ordered) now_.entry = presence::perhaps;
                return;
            case kind::stamp:
                now_.unsettled = true;
                return;
            case kind::remove:
                now_.removal_unanswered = now_.unsettled = true;
                return;
            default:
                return;
        }
    }

    void failed(kind request, queued_claim::fate what, const spi::claim_answer& why) {
        note_failure(request, what);
        switch (now_.is) {
            case phase::looking:
            case phase::entering:
                now_.is = phase::outside;
                if (why.is == claim_is::refused) return give_up(why);
                return answer(why);
            case phase::withdrawing:
                return not_withdrawn(why);
            case phase::leaving:
            case phase::settling:
                return not_left(request);
            case phase::describing:
                return described();
            default:
                return failed_in_line(why);
        }
    }

    void lease_over() {
        note_failure(kind::enter, queued_claim::fate::lease_over);
        now_.entry_on_its_way = 0;
        if (now_.is == phase::leaving || now_.is == phase::settling) {
            if (now_.pending == 0) leave();
        } else if (now_.is == phase::over) {
            over();
        } else if (now_.entry == presence::vanished) {
            thrown_out();
        }
    }

    void old_gone() {
        if (rules_.replaces && !std::exchange(now_.old_is_gone, true)) tell(kind::old_gone);
    }

    void answer(spi::claim_answer what) {
        if (!std::exchange(now_.asked, false)) return;
        out_.push_back({.what = kind::answer, .answer_is = make_spared<spi::claim_answer>(std::move(what))});
    }

    void tell(kind what) { out_.push_back({.what = what}); }

private:
    using verdict_ptr = std::shared_ptr<const line_verdict>;

    void request(kind what, phase next, verdict_ptr verdict = {}) {
        now_.is = next;
        now_.request = what;
        now_.pending = ++now_.last;
        out_.push_back({.what = what, .ticket = now_.pending, .asked = now_.asked, .verdict = std::move(verdict)});
    }

    static verdict_ptr verdict_of(const queued_claim::line_view& line) {
        return make_spared<line_verdict>(line.verdict);
    }

    void read(phase next) { request(kind::read, next); }

    void enter(action::where how) {
        request(kind::enter, phase::entering);
        out_.back().how = how;
    }

    void remove(phase next) {
        request(kind::remove, next);
        out_.back().late = may_come_back();
        out_.back().again = now_.removal_unanswered;
        out_.back().there = now_.entry == presence::there;
    }

    action::where how_it_enters() const {
        return now_.queue || rules_.replaces ? action::where::at_end : action::where::if_empty;
    }

    void wait(const queued_claim::line_view& line) {
        verdict_ptr verdict = verdict_of(line);
        out_.push_back({.what = kind::watch, .verdict = verdict});
        if (now_.asked && rules_.describes) return request(kind::describe, phase::describing, std::move(verdict));
        described();
    }

    void busy(const queued_claim::line_view& line) {
        if (rules_.describes) return request(kind::describe, phase::describing, verdict_of(line));
        not_to_be({.is = claim_is::busy, .standing = line.standing});
    }

    void not_to_be(spi::claim_answer because) {
        now_.entry == presence::there ? withdraw(std::move(because)) : give_up(std::move(because));
    }

    bool linger(spi::time_point at) {
        if (!now_.lingers_since) now_.lingers_since = at;
        if (at - *now_.lingers_since > longest_linger) return false;
        now_.is = phase::lingering;
        tell(kind::linger);
        return true;
    }

    void failed_in_line(const spi::claim_answer& why) {
        if (now_.entry == presence::vanished && now_.core_knows != told::nothing) return thrown_out();
        if (now_.entry == presence::vanished) now_.entry = presence::absent;
        if (why.is == claim_is::refused) return not_to_be(why);
        now_.is = now_.entry == presence::absent    ? phase::outside
                  : now_.core_knows == told::queued ? phase::waiting
                                                    : phase::inside;
        if (now_.asked) return answer(why);
        tell(kind::retry);
    }

    // Not known, or not allowed. Without an entry, only its lease is left, which ends by itself.
    void not_withdrawn(const spi::claim_answer& why) {
        const bool only_a_lease = now_.entry == presence::absent && !may_come_back();
        if (why.is == claim_is::refused || only_a_lease) return end_with(*std::exchange(now_.because, {}));
        now_.is = now_.core_knows == told::queued ? phase::waiting : phase::inside;
        if (now_.asked) return answer(why);
        tell(kind::retry);
    }

    // Whoever released it asks again. If that is nobody, it tries again by itself.
    void not_left(kind request) {
        now_.is = phase::leaving;
        if (request != kind::remove && request != kind::read) return leave();  // that came before the release
        if (!now_.release_asked) return tell(kind::retry);
        now_.release_due = true;
        answer_release(release_is::unknown);
    }

    void left(release_is how) {
        if (now_.release_asked || now_.release_due) answer_release(how);
        over();
    }

    // Whoever is told that nothing is known asks again; whoever waits for a push is told that none will come.
    void end_with(spi::claim_answer because) {
        if (!now_.asked && now_.core_knows != told::nothing) {
            tell(kind::lost);
            return over();
        }
        const bool asked_again = because.is == claim_is::unknown;
        answer(std::move(because));
        asked_again ? to_outside() : over();
    }

    void to_outside() {
        now_.is = phase::outside;
        now_.entry = presence::absent;
        now_.pending = 0;
        old_stays();
        tell(kind::unwatch);
    }

    // Nothing more follows, unless a late request makes the core release it.
    void over() {
        now_.is = phase::over;
        now_.look_again = false;
        old_stays();
        tell(kind::unwatch);
        if (!may_come_back()) tell(kind::forget);
    }

    void old_stays() {
        if (rules_.replaces && !now_.old_is_gone) tell(kind::old_stays);
    }

    bool may_come_back() const { return now_.entry_on_its_way != 0 || now_.entry_unanswered; }

    void answer_release(release_is how) {
        now_.release_asked = false;
        out_.push_back({.what = kind::released, .released_as = how});
    }

    spi::claim_answer refusal_of(const line_verdict& verdict) const {
        spi::claim_answer no{.is = claim_is::refused, .reason = errc::lost};
        if (verdict.is == is::would_deadlock) no.reason = errc::would_deadlock;
        if (verdict.is == is::other_kind) {
            no.reason = errc::kind_mismatch;
            no.detail = disagreement(verdict.capacity, rules_.capacity);
        }
        return no;
    }

    const queued_claim::rules& rules_;
    facts& now_;
    queued_claim::actions out_;
};

}  // namespace

queued_claim queued_claim::of_another(const rules& of) {
    queued_claim one(of);
    one.now_.entry = facts::presence::perhaps;
    one.now_.was_granted = true;
    return one;
}

queued_claim::actions queued_claim::ask(bool queue) {
    step does(rules_, now_);
    now_.asked = true;
    if (queue && !now_.queue && now_.pending != 0) now_.look_again = true;  // that was not asked for to wait
    now_.queue = queue;
    switch (now_.is) {
        case phase::held:
        case phase::yielding:
            does.answer({.is = claim_is::granted, .grant = {.counter = now_.counter}});
            break;
        case phase::leaving:
        case phase::settling:
        case phase::over:
            does.answer(cancelled());
            break;
        case phase::lingering:  // retry() will come
            break;
        default:
            if (now_.pending == 0) does.proceed();
    }
    return does.done();
}

queued_claim::actions queued_claim::release() {
    step does(rules_, now_);
    now_.release_asked = true;
    const bool left_before = now_.is == phase::leaving || now_.is == phase::settling;
    if (left_before && now_.pending != 0) return {};
    if (now_.is == phase::withdrawing && !rules_.ordered) now_.removal_unanswered = now_.unsettled = true;
    does.answer(cancelled());
    if (now_.ended == facts::end::none) now_.ended = facts::end::by_release;
    if (!left_before) does.tell(kind::unwatch);
    does.leave();
    return does.done();
}

queued_claim::actions queued_claim::expire() {
    if (!holds()) return {};
    step does(rules_, now_);
    now_.ended = facts::end::by_time;
    does.tell(kind::unwatch);
    does.leave();
    return does.done();
}

queued_claim::actions queued_claim::woken() {
    step does(rules_, now_);
    if (now_.is == phase::waiting && now_.pending == 0)
        does.proceed();
    else if (now_.pending != 0 && !leaves())
        now_.look_again = true;
    return does.done();
}

queued_claim::actions queued_claim::retry() {
    step does(rules_, now_);
    const bool goes_on = now_.is == phase::waiting || now_.is == phase::lingering || now_.is == phase::leaving;
    if (now_.pending == 0 && goes_on) does.proceed();
    return does.done();
}

queued_claim::actions queued_claim::vanished() {
    step does(rules_, now_);
    if (now_.is == phase::held) does.thrown_out();
    return does.done();
}

queued_claim::actions queued_claim::lease_over() {
    step does(rules_, now_);
    does.lease_over();
    return does.done();
}

void queued_claim::yield() {
    if (now_.is == phase::held) now_.is = phase::yielding;
}

queued_claim::actions queued_claim::replaced() {
    step does(rules_, now_);
    if (now_.is == phase::over) return {};
    now_.ended = facts::end::by_exchange;
    now_.entry = facts::presence::absent;
    if (leaves()) return {};  // its removal finds nothing
    does.leave();             // nothing, unless something of it is late
    return does.done();
}

queued_claim::actions queued_claim::not_replaced() {
    step does(rules_, now_);
    if (now_.is != phase::yielding) return {};
    now_.is = phase::held;
    does.tell(kind::watch_hold);
    return does.done();
}

bool queued_claim::entry_sent(ticket of) {
    if (of != now_.pending || now_.is != phase::entering) return false;
    now_.entry_on_its_way = of;
    now_.tried_to_enter = true;
    return true;
}

queued_claim::actions queued_claim::seen(ticket of, const line_view& line, spi::time_point now) {
    step does(rules_, now_);
    if (!does.answers(of)) {
        // It was released before it was answered: its removal takes this along, or is yet to be asked for.
        if (line.in_line && now_.is == phase::leaving) now_.entry = facts::presence::there;
        return {};
    }
    if (rules_.ordered) now_.entry_unanswered = false;
    if (leaves())
        does.settle_by(line);
    else if (line.in_line)
        does.judge(line, now);
    else
        does.judge_from_outside(line, now);
    return does.done();
}

queued_claim::actions queued_claim::entered(ticket of) {
    step does(rules_, now_);
    const bool waited_for = does.answers(of);
    if (waited_for || now_.is == phase::leaving) now_.entry = facts::presence::there;
    if (waited_for) leaves() ? does.leave() : does.read_again();
    return does.done();
}

// Only if it waited when the line was read before.
queued_claim::actions queued_claim::unchanged(ticket of) {
    step does(rules_, now_);
    if (does.answers(of)) leaves() ? does.leave() : does.described();
    return does.done();
}

queued_claim::actions queued_claim::described(ticket of, spi::standing standing) {
    step does(rules_, now_);
    if (!does.answers(of)) return {};
    now_.standing = std::move(standing);
    leaves() ? does.leave() : does.described();
    return does.done();
}

queued_claim::actions queued_claim::exchanged(ticket of, std::uint64_t counter) {
    step does(rules_, now_);
    does.old_gone();
    if (does.answers(of)) {
        now_.counter = counter;
        leaves() ? does.leave() : does.grant();
    }
    return does.done();
}

queued_claim::actions queued_claim::stamped(ticket of, std::uint64_t counter) {
    step does(rules_, now_);
    if (does.answers(of)) {
        now_.counter = counter;
        leaves() ? does.leave() : does.grant();
    }
    return does.done();
}

queued_claim::actions queued_claim::changed(ticket of) {
    step does(rules_, now_);
    if (does.answers(of)) leaves() ? does.leave() : does.read_again();
    return does.done();
}

queued_claim::actions queued_claim::confirmed(ticket of) {
    step does(rules_, now_);
    if (does.answers(of)) leaves() ? does.leave() : does.granted();
    return does.done();
}

queued_claim::actions queued_claim::removed(ticket of, const removal& how) {
    step does(rules_, now_);
    if (does.answers(of)) does.removed(how);
    return does.done();
}

queued_claim::actions queued_claim::failed(ticket of, fate what, const spi::claim_answer& why) {
    step does(rules_, now_);
    const bool entry = of != 0 && of == now_.entry_on_its_way;
    const action::kind request = now_.request;
    if (does.answers(of))
        does.failed(request, what, why);
    else if (entry)
        does.note_failure(action::kind::enter, what);
    return does.done();
}

}  // namespace mortise::inline v0::base
