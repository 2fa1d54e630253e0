// Which connection each claim of a client is on, for the strategies whose locks belong to a connection. Pure: no I/O, no threads,
// no clock. It is told what happened and what time it is, and returns what to do.
//
// The server keeps the locks and its own queue. A connection that waits for one lock can do nothing else, so every claim has a
// connection to itself while it waits or holds, and there are only so many.
//
//   ask --> [taking] --granted--> [stamping] --> [confirming] --> [held] --> [leaving] --> over
//    |        |  ^                 for_update     if the grant
//    |        |  |                 only           may be old
//    |        |  +--[pausing]--the connection broke while it waited
//    |        +--not free--> [looking] --> answered busy, with who holds it
//    +--no connection is free--> refused
//
// The statement that takes the lock says in one step whether it got it, so a claim that waits is sent as a wait at once, and
// answered `queued` when the server has not answered for a moment.
#pragma once

#include "base/ended_claims.hpp"

#include <mortise/claim_id.hpp>
#include <mortise/config.hpp>
#include <mortise/spi/store.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace mortise::inline v0::stores::mysql {

class bound_table {
public:
    using place = std::size_t;  // of a connection

    struct action {
        enum class kind {
            // Statements, and the events that answer them.
            take,     // on `where`: took(). With `waits`, as long as it takes.
            stop,     // ends the wait on `where`, which then answers
            stamp,    // gives the claim its token: stamped()
            confirm,  // that `where` is still the connection `session`: confirmed()
            free,     // the lock, on `where`: freed()
            look,     // who has the lock: looked()

            // To the core.
            answer,    // the claim, to all who have asked
            granted,   // the same of a grant that nobody asks for
            lost,      // events::lost
            released,  // the release, to all who have asked
        };
        kind what;
        claim_id id{};
        std::string name{};
        std::string label{};
        place where = 0;
        std::int64_t session = 0;
        std::uint64_t counter = 0;
        bool waits = false;
        spi::claim_answer answer_is{};
        spi::release_answer released_as = spi::release_answer::unknown;
    };
    using actions = std::vector<action>;

    // What became of the statement that takes a lock.
    struct taken {
        enum class verdict {
            yes,
            not_free,
            again,    // a deadlock, or somebody ended the statement: it may be repeated
            failed,   // for a reason of the server's: see `why`
            cut_off,  // the connection is gone, and all that it held
        };
        verdict is = verdict::cut_off;
        std::uint64_t counter = 0;  // 0: it is to be stamped
        std::int64_t session = 0;
        spi::time_point sent{};
        spi::claim_answer why{};
    };

    // `longest_lease`: for which the server keeps a silent connection, at least.
    bound_table(std::size_t connections, spi::duration longest_lease);

    // What the core wants.
    actions ask(const spi::claim_request& wanted, spi::time_point now);
    actions release(std::string_view name, const claim_id& id, spi::time_point now);

    // What became of statements.
    actions took(const claim_id& id, const taken& how, spi::time_point now);
    actions stamped(const claim_id& id, const taken& how);
    actions confirmed(const claim_id& id, bool same_session, spi::time_point sent, spi::time_point now);
    actions freed(const claim_id& id, spi::time_point now);
    // `somebody`: none: it could not be found out.
    actions looked(const claim_id& id, std::optional<bool> somebody, const spi::standing& who, spi::time_point now);
    actions session_lost(place where, std::int64_t session, spi::time_point now);

    // Waits that are to be answered, tried again, and holds whose lease is over.
    actions tick(spi::time_point now);
    bool ticks() const noexcept { return !claims_.empty(); }

    struct hold {
        place where = 0;
        std::int64_t session = 0;
    };
    std::optional<hold> held(const claim_id& id) const;
    // The connection `session` has answered a statement that was sent then. False: it does not hold the claim.
    bool renewed(const claim_id& id, std::int64_t session, spi::duration lease, spi::time_point sent);

private:
    enum class phase { taking, pausing, looking, stamping, confirming, held, leaving };
    struct entry {
        claim_id id{};
        std::string name;
        std::string label;
        phase is = phase::taking;
        bool queue = false;
        bool asked = false;      // somebody waits for an answer
        bool told = false;       // that it is queued
        bool released = false;   // by the core
        bool withdrawn = false;  // asked again without `queue`
        bool expired = false;    // it leaves because its lease is over
        bool looks = false;
        place where = 0;
        std::int64_t session = 0;
        std::uint64_t counter = 0;
        spi::duration lease{};
        spi::time_point counted_from{};
        spi::time_point since{};                     // it has been in this phase
        std::optional<spi::claim_answer> trouble{};  // why it pauses
    };

    bool gives_up(const entry& one) const { return one.released || one.withdrawn; }
    void take(entry& one, spi::time_point now, actions& out);
    void pause(entry& one, const spi::claim_answer& why, spi::time_point now, actions& out);
    void grant(entry& one, spi::time_point now, actions& out);
    void leave(entry& one, actions& out);
    void over(claim_id id, spi::time_point now, actions& out);
    void give_back(entry& one);
    static action statement(action::kind what, const entry& one);
    static void tell(entry& one, spi::claim_answer answer, actions& out);
    static spi::claim_answer granted_as(const entry& one);

    const std::size_t connections_;
    const spi::duration longest_lease_;
    std::unordered_map<claim_id, entry> claims_;
    std::vector<place> free_;     // the last was used last
    std::set<claim_id> unknown_;  // released, but not known here
    base::ended_claims<4096> ended_;
};

}  // namespace mortise::inline v0::stores::mysql
