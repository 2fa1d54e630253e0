// One claim in a store that keeps a line (base/line.hpp): what to ask of the store next, and what to tell the caller. Pure: no
// I/O, no threads, no locks, no clock. The store tells it what happened, and carries out the actions that it answers.
//
//                 +------------------------------------------------------------------+
//                 v                                            removed (busy, refused)|
//   ask --> [looking] --> [entering] --> [reading] --waits--> [waiting]          [withdrawing]
//            read           enter         |  ^  ^               | watch               ^
//              |                          |  |  +---- woken ----+                     |
//              +-- nobody is in the way --+  |                                        |
//                                         |  +-- the line has changed --+             |
//                                         +--may exchange--> [exchanging]             |
//                                         +--to be stamped-> [stamping]  |            |
//                                         +--holds---------> [confirming]-+--> [held] |
//                                         +--not to wait, or never granted------------+
//
//   release, from anywhere --> [leaving] --removed--> [over]          read by [settling] if the entry was gone already:
//   vanished, lease_over   --> [over]                                 has anybody taken the lock since?
//
// `outside` and `inside` are the same as `looking` and `reading` with no request under way: one has failed, and the caller
// asks again. `lingering`: only claims of this client are in the way, and they are leaving. `yielding`: held, but another
// claim of this client may have taken its place already.
//
// Which event leads where
//   ask          A caller asks, or asks again. One answer serves all who have asked by then. Held: answered from memory.
//   seen         The line was read, by `read` or by `enter`. See judge() and judge_from_outside() in the .cpp.
//   entered      It is in the line, but how it stands was not read: reads it.
//   woken        An entry that it watches has gone: reads the line. While a request is under way: reads it after that.
//   failed       A request was not answered, or refused. Asked: the caller is told, and asks again; not asked: `retry`. A refusal
//                is final: the entry is removed, if there is one.
//   release      `remove`, if anything of it is or may be in the line. The caller of a claim is answered `cancelled`.
//   lease_over   The lease or session has ended, and the entry with it. Told queued or granted: `lost`.
//   vanished     Somebody else has removed the entry: the same.
//   expire       The store itself ends a hold whose time is over: `remove`.
//   yield, replaced, not_replaced: another claim of this client takes its place by an exchange, has, or has not.
//
// Requests that were not answered (decision 0026-late-requests)
//   A request to enter may be carried out long after it was given up. `rules::ordered` says that it cannot be: the store carries
//   out the requests of a client in the order in which they were sent, and none after a reconnect, so that the next `read`
//   tells what became of it (ZooKeeper). Otherwise (etcd, SQL) `remove` asks with `late` that it be made harmless as well: by a
//   mark that a late request checks, or by ending the lease it needs. Only then may the store answer removed(). A claim is not
//   forgotten before nothing of it can arrive any more: see may_come_back(). The core releases such a claim, whatever it was
//   answered.
//   One request is under way at a time. Unless the store is ordered, a release does not wait for it. Each has a ticket; the
//   answer to one that is no longer waited for changes nothing but what is known to be on its way.
//
// How a store uses it
//   One machine a claim, guarded by the store's mutex. Call an event, let the mutex go, carry out the actions in order; but tell
//   the core last (answer, granted, lost, released), since it may ask for the next thing at once. Every action with a ticket is answered by exactly one of the events that stand beside it, or by failed().
//   How the line is read (in part, from a cache, for many claims at once) is the store's affair, and so is how a lease is come
//   by before `enter`. The store keeps the callers' replies; `answer` and `released` are for all that it has when the event is
//   called: take them before the mutex is let go, since whoever asks after that is answered apart.
#pragma once

#include "base/line.hpp"
#include "base/spare_blocks.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mortise::inline v0::base {

class queued_claim {
public:
    // What kind of store, and what kind of claim it is.
    struct rules {
        bool ordered = false;      // see above
        bool looks_first = false;  // without `queue`, it reads the line before it enters
        bool confirms = false;     // a lease has to be confirmed before a grant counts
        bool describes = false;    // who holds is asked for by a request of its own
        // `remove` also ends the lease that it has for itself: so it is asked for even if it never got into the line.
        bool ends_own_lease = false;
        bool replaces = false;  // it takes the place of a hold (upgrade, downgrade)
        std::uint32_t capacity = 1;
    };

    enum class phase {
        outside,
        looking,
        entering,
        inside,
        reading,
        describing,
        waiting,
        lingering,
        exchanging,
        stamping,
        confirming,
        held,
        yielding,
        withdrawing,
        leaving,
        settling,
        over,
    };

    using ticket = std::uint32_t;  // of a request; 0: none

    struct action {
        enum class kind {
            // Requests, and how they are answered. All of them: or by failed().
            enter,     // at `how`: seen(), or entered(). Call entry_sent() just before it is sent.
            read,      // the line: seen(), or unchanged() if it waited before and nothing can have changed
            describe,  // who holds, for the answer: described()
            exchange,  // takes the place of its hold, by `verdict.guards`: exchanged(), or changed()
            stamp,     // stamped(), or changed()
            confirm,   // the lease: confirmed()
            remove,    // its entry; with `late` as above; `again`: one before was not answered: removed()

            // These are not answered.
            watch,       // call woken() when one of `verdict.watch` has gone since the line was read, or may have
            unwatch,     // that is no longer needed
            watch_hold,  // call vanished() when its entry has gone and it is held
            linger,      // call retry() when claims of this client have left the line, or in some milliseconds
            retry,       // call retry() some time later, or once there is a connection again
            answer,  // the claim, to all who have asked; of a grant the counter is set, and the standing is the store's
            granted,    // the same of a grant that nobody asks for
            lost,       // events::lost
            released,   // the release, to all who have asked. Remember it: whoever was told `unknown` asks again
            old_gone,   // the hold that it replaces has become this one: call replaced() of that one
            old_stays,  // it has not: call not_replaced() of that one
            forget,     // the last action of a claim: nothing of it is left
        };
        kind what;
        queued_claim::ticket ticket = 0;

        // enter
        enum class where {
            at_end,
            if_empty,      // only if nobody is in the line
            if_unchanged,  // only if nobody has come since it was seen
        };
        where how = where::at_end;
        bool asked = false;  // read: somebody waits for an answer
        bool late = false;   // remove
        bool again = false;  // remove
        bool there = false;  // remove: it was seen in the line
        spi::release_answer released_as = spi::release_answer::unknown;
        // Few actions have these, and stores copy actions.
        std::shared_ptr<const line_verdict> verdict{};         // exchange, describe, watch
        std::shared_ptr<const spi::claim_answer> answer_is{};  // answer, granted
    };
    static constexpr std::size_t usual_actions = 4;  // one event is seldom followed by more
    using actions = std::vector<action, spare_allocator<action, usual_actions>>;

    // The line as it was read, from this claim's point of view.
    struct line_view {
        line_verdict verdict{};  // of its entry; if it has none, of one that would arrive now
        bool in_line = false;
        bool others = false;        // somebody else is
        bool took_place = false;    // of its entry: it has taken its hold's place
        bool only_leavers = false;  // it waits, but not for anybody but claims of this client that are leaving
        std::uint64_t counter = 0;  // of its entry
        spi::standing standing{};   // for answers, unless rules::describes
        std::optional<spi::claim_answer> refusal{};  // it must not be granted, for a reason of the store's
    };

    // What became of `remove`.
    struct removal {
        bool was_there = false;        // it was taken out; or an earlier removal is known to have done it
        bool lease_over = false;       // it was not there because its lease or session has ended
        bool took_place = false;       // it had taken its hold's place before
        std::optional<bool> others{};  // if it was not there: somebody else is in the line
    };

    // What is known of a request that failed.
    enum class fate {
        not_done,
        unsure,      // it may have been done, or may yet be
        lease_over,  // not done, and its lease or session has ended
    };

    // All that is known of a claim. Decided on in the .cpp; a store has no use for it.
    struct facts {
        enum class presence {
            absent,   // not in the line, as far as we know
            perhaps,  // a request to enter was not answered
            there,
            vanished,  // it was, and it was not us who removed it
        };
        enum class told { nothing, queued, granted };
        enum class end { none, by_release, by_time, by_exchange };

        phase is = phase::outside;
        presence entry = presence::absent;
        told core_knows = told::nothing;
        end ended = end::none;
        ticket pending = 0;  // the request whose answer is waited for
        ticket last = 0;
        ticket entry_on_its_way = 0;
        action::kind request{};  // what it is
        bool entry_unanswered = false;
        bool removal_unanswered = false;
        bool unsettled = false;  // some request may have been carried out, or may yet be, that was given up
        bool old_is_gone = false;
        bool tried_to_enter = false;
        bool asked = false;          // somebody waits for an answer to the claim
        bool release_asked = false;  // and to its release
        bool release_due = false;    // who released it was told that nothing is known, and asks again
        bool was_granted = false;
        bool queue = false;
        bool look_again = false;  // something has changed since the request that is under way was sent
        int tries = 0;            // to enter an unchanged line
        std::optional<spi::time_point> lingers_since{};
        std::uint64_t counter = 0;
        spi::standing standing{};
        std::shared_ptr<const spi::claim_answer> because{};  // while it withdraws
    };

    explicit queued_claim(const rules& of) : rules_(of) {}
    // One that this client knows only the id of, to be released.
    static queued_claim of_another(const rules& of);

    // What the core and the world want of it.
    actions ask(bool queue);
    actions release();
    actions expire();
    actions woken();
    actions retry();
    actions vanished();
    actions lease_over();
    void yield();
    actions replaced();
    actions not_replaced();

    // What became of a request.
    bool entry_sent(ticket of);  // about to be sent. False: do not, it is not wanted any more; answer failed(not_done)
    actions seen(ticket of, const line_view& line, spi::time_point now);
    actions entered(ticket of);
    actions unchanged(ticket of);
    actions described(ticket of, spi::standing standing);
    actions exchanged(ticket of, std::uint64_t counter);
    actions stamped(ticket of, std::uint64_t counter);
    actions changed(ticket of);
    actions confirmed(ticket of);
    actions removed(ticket of, const removal& how);
    actions failed(ticket of, fate what, const spi::claim_answer& why);

    // What a store needs to know of it.
    phase is() const noexcept { return now_.is; }
    bool holds() const noexcept { return now_.is == phase::held || now_.is == phase::yielding; }
    // Released or ended: in nobody's way for long.
    bool leaves() const noexcept { return now_.is >= phase::leaving; }
    bool expired() const noexcept { return now_.ended == facts::end::by_time; }
    bool busy() const noexcept { return now_.pending != 0; }
    // A request to enter may still be carried out.
    bool may_come_back() const noexcept { return now_.entry_on_its_way != 0 || now_.entry_unanswered; }
    // Nothing of it can arrive any more, so what it was written under may be used for another claim.
    bool quiet() const noexcept { return !may_come_back() && !now_.unsettled; }

private:
    rules rules_;
    facts now_;
};

}  // namespace mortise::inline v0::base
