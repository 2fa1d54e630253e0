// The statements of the strategy `row` in the language of one server. The routines behind them are made with the schema; they
// do the same on every server:
//
//   enter    adds a claim to its line, and confirms it if it holds at once; answers the line
//   look     confirms a claim if it holds by now; answers the line
//   leave    removes it, and wakes those who may hold by then
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

    // A line: first a row with its floor as `seq`; then its entries in any order, some perhaps twice, as row_line.cpp reads
    // them.
    statement
        enter{};  // name, id, session, capacity, weight, instead_of, only if it holds, lease, wait, host, pid, label, most rows
    statement look{};     // name, id, session, lease, most rows
    statement confirm{};  // id, lease: its number, or 0
    statement
        leave{};  // name, id, session, mark: was there, took a place, others are there. Marks the id for so long, if `mark` is positive, so that
                  // it cannot enter any more; for -mark, if that is negative and it was there.
    statement move{};   // name, id, old id, guards, floor, session, lease: its new number, or 0
    statement renew{};  // ids and leases, 16 and 8 bytes each: the ids that were renewed
    statement beat{};   // session, wait: the ids that should look

    statement list{};         // name, number, capacity, weight, host, pid, label, left, held for, waiting
    statement break_hold{};   // name, number, session: 1 if it was
    statement overdue{};      // names with claims that have expired
    statement sweep{};        // name, session
    statement sweep_marks{};  // removes old marks
};

}  // namespace mortise::inline v0::stores::sql
