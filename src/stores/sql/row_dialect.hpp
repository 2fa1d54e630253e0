// The statements of the strategy `row` in the language of one server. The routines behind them are made with the schema; they
// do the same on every server:
//
//   enter    adds a claim to its line, and confirms it if it holds at once; answers the line
//   look     confirms a claim if it holds by now; answers the line
//   leave    removes claims, grants the lock to those who may hold by then, and tells their clients
//
// A claim that somebody else's statement has granted lasts for its *grace* until its client renews it, since that may never hear
// of it; only for as long as it is *trusted*, if the client's session has ended. A claim that waits ends with the session.
//
// Each is one transaction, which begins by locking the name: so claims arrive, leave and are judged one after the other, and the
// order of their numbers is the order in which they can be seen. Times are microseconds by the server's clock.
#pragma once

#include "stores/sql/statement.hpp"

#include <mortise/config.hpp>

#include <string>
#include <vector>

namespace mortise::inline v0::stores::sql {

struct row_dialect {
    std::vector<statement> schema{};  // run one after the other; all may be there already

    // Run on every new connection, those that are not direct with the session's number.
    std::vector<statement> greeting{};
    std::string listen{};  // the same with the number in hex added to the text; empty: the server has no notifications

    // A line: a row with its floor as `seq`, and its entries, in any order, some perhaps twice, as row_line.cpp reads them. Those
    // before its own are left out if there are more than `most rows`. A claim that is granted at once is answered alone, without
    // the floor. The time that is left of a grant is that until somebody may remove it.
    //
    // name, id, session, capacity, weight, instead_of, only if it holds, lease, grace, trusted, host, pid, label, most rows
    statement enter{};
    // The same of a claim that its client keeps while it is idle; if the server can notify. Where such a one holds, `confirmed` is 3,
    // and its client was told that this claim asks, unless both may hold.
    statement enter_keeping{};
    statement look{};     // name, id, session, lease, most rows
    statement confirm{};  // id, lease: its number, or 0
    // name, records, session. A record is an id and its mark, 16 and 8 bytes: if the mark is positive the id cannot enter for so
    // long; if it is negative and the claim was there, for -mark. Answers two digits for each, was there and took a place, in one
    // text; whether others are there; and what it has granted to claims of the same session, which is told of nothing else then:
    // ids and numbers, 16 and 8 bytes each.
    statement leave{};
    statement move{};   // name, id, old id, guards, floor, session, lease: its new number, or 0
    statement renew{};  // ids and leases, 16 and 8 bytes each: the ids that were renewed
    // session, ids, silence: which of these claims, the first that wait for each name, should look. If there is one, the server
    // ends the session when it is silent for so long.
    statement beat{};

    statement list{};         // name, number, capacity, weight, host, pid, label, left, held for, waiting
    statement break_hold{};   // name, number, session: 1 if it was
    statement overdue{};      // session: names with claims that have expired, or whose clients have died
    statement sweep{};        // name, session
    statement sweep_marks{};  // removes old marks
};

}  // namespace mortise::inline v0::stores::sql
