// Which session each claim of a client is on, for strategy=advisory. Pure: no I/O, no threads, no clock. It is told what happened
// and what time it is, and answers what to do.
//
// The server keeps the locks, its own queue and nothing else: a lock belongs to a session, and a session that waits for one lock
// can do nothing else meanwhile. So a client has one main session, which never waits and may hold any number of locks, and a few
// sessions to wait on, each with one claim that waits or holds.
//
//   ask --> [behind] --> [trying] --not free--> [waiting] --granted--> [held] --> [leaving] --> over
//    |       another       on the     |   ^      on a session  \         ^
//    |       claim of     main session|   |      of its own     \--late--[confirming]
//    |       this name                v   |          |
//    |       is on main           [polling]          +--cancelled, failed--> [clearing]
//    |                             no session is free to wait on
//    +--the name was contended a moment ago--> [waiting]
//
// A session that asks twice for the same lock gets it twice. So of the claims of one name at most one is on the main session.
//
// A lock statement that fails may have taken the lock: the server gives back what a session holds with the session only.
// Therefore a session on which a wait failed is cleared before it is used again.
#pragma once

#include "base/ended_claims.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mortise::inline v0::stores::postgres {

class advisory_table {
public:
    using session = std::size_t;  // 0: the main one
    static constexpr session main = 0;

    struct action {
        enum class kind {
            // Statements, and the events that answer them.
            try_lock,  // on the main session: tried()
            wait,      // on `where`: waited()
            cancel,    // the wait on `where`, which then ends
            clear,     // all that `where` holds: cleared()
            unlock,    // on `where`, if it is still the session `pid`: unlocked()
            confirm,   // that `where` is still the session `pid`: confirmed()
            look,      // whether anybody has the lock: looked()

            poll_later,  // call poll()

            // To the core, and so the last.
            answer,    // the claim, to all who have asked
            granted,   // the same of a grant that nobody asks for
            lost,      // events::lost
            released,  // the release, to all who have asked
        };
        kind what;
        claim_id id{};
        std::string name{};
        session where = main;
        std::int64_t pid = 0;
        spi::claim_answer answer_is{};
        spi::release_answer released_as = spi::release_answer::unknown;
    };
    using actions = std::vector<action>;

    // What became of a statement that takes a lock.
    struct lock_result {
        enum class verdict {
            taken,
            not_free,
            failed,   // for a reason of the server's: see `why`
            cut_off,  // the session is gone, and all that it held
        };
        verdict is = verdict::cut_off;
        std::uint64_t counter = 0;
        std::int64_t pid = 0;
        spi::time_point sent{};  // when the statement was
        spi::claim_answer why{};
    };

    // `longest_lease`: for which the server keeps a session, counted from the last statement.
    advisory_table(std::size_t wait_sessions, spi::duration longest_lease);

    // What the core wants.
    actions ask(const spi::claim_request& wanted, spi::time_point now);
    actions release(std::string_view name, const claim_id& id, spi::time_point now);

    // What became of statements.
    actions tried(const claim_id& id, const lock_result& how, spi::time_point now);
    actions waited(const claim_id& id, const lock_result& how, spi::time_point now);
    actions cleared(const claim_id& id, spi::time_point now);
    actions confirmed(const claim_id& id, bool same_session, spi::time_point sent, spi::time_point now);
    // None: the session was cut off, and the lock is not ours any more.
    actions unlocked(const claim_id& id, std::optional<bool> was_locked, spi::time_point now);
    actions looked(const claim_id& id, std::optional<bool> somebody, spi::time_point now);

    actions poll(const claim_id& id, spi::time_point now);
    // The server has ended a session, or we have given it up.
    actions session_lost(session which, spi::time_point now);
    // Ends holds whose lease is over.
    actions expire(spi::time_point now);
    std::optional<spi::time_point> next_expiry() const;

    // The hold of a claim, if it has one.
    struct hold {
        session where = main;
        std::int64_t pid = 0;
    };
    std::optional<hold> held(const claim_id& id) const;
    // The session `pid` has answered a statement that was sent then. False: that is not the session that holds it.
    bool renewed(const claim_id& id, std::int64_t pid, spi::duration lease, spi::time_point sent);

private:
    enum class phase { behind, trying, waiting, polling, confirming, held, leaving, clearing };
    struct entry {
        claim_id id{};
        std::string name;
        phase is = phase::behind;
        bool queue = false;
        bool asked = false;     // somebody waits for an answer
        bool released = false;  // somebody waits for the answer to its release, or has
        bool busy = false;      // it withdraws, to be answered busy
        bool expired = false;   // its lease is over
        session where = main;
        std::int64_t pid = 0;
        std::uint64_t counter = 0;
        spi::duration lease{};
        spi::time_point counted_from{};
        std::optional<spi::claim_answer> trouble{};  // why the last statement failed, for who asks
    };
    struct name_state {
        std::optional<claim_id> on_main{};
        std::vector<claim_id> behind{};
    };

    void place(entry& one, spi::time_point now, actions& out);
    void find_session(entry& one, actions& out);
    void begin_wait(entry& one, session where, actions& out);
    void grant(entry& one, const lock_result& how, spi::time_point now, actions& out);
    void give_up(entry& one, spi::time_point now, actions& out);
    void leave_main(const entry& one, spi::time_point now, actions& out);
    void poll_later(entry& one, actions& out);
    void free_session(session which, actions& out);
    void end(claim_id id, std::optional<spi::release_answer> answer, spi::time_point now, actions& out);
    void tell(entry& one, spi::claim_answer answer, actions& out);
    bool contended(const std::string& name, spi::time_point now) const;

    const spi::duration longest_lease_;
    std::unordered_map<claim_id, entry> claims_;
    std::unordered_map<std::string, name_state> names_;
    std::unordered_map<std::string, spi::time_point> contended_;
    std::vector<session> free_;     // to wait on; the last was used last
    std::deque<claim_id> polling_;  // in the order of arrival
    std::set<claim_id> unknown_;    // released, but not known here
    base::ended_claims<4096> ended_;
};

}  // namespace mortise::inline v0::stores::postgres
