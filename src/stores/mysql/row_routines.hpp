// The tables and routines of strategy=row, as texts to be filled in by row_dialect.cpp.
//
// In these texts
//   NOW_US       is the time: microseconds since 1970, at the moment and not when the statement began
//   LOCK_NAME    begins a transaction, and locks the name for its time: its stripe, one of the rows that are never deleted, so that
//                no gap is locked, and no deadlock follows. A stripe also numbers the claims of its names. v_floored: an exchange
//                was asked for in one of them, so that there may be a floor, or one that waits to replace a hold.
//   NEXT_NUMBER  takes the next number of the stripe, with the name locked
//   LINE(until)  reads the line up to a place, see sql/row_line.cpp
//   DEAD(n)      the client with the session n has lost its connection: nobody has its lock, 'mortise.' and the number
//   TELL         wakes the clients that were granted something, after the commit. @mortise_told: their sessions, or NULL.
//                @mortise_mine: what the caller itself was granted, if it is answered that; else NULL, and it is woken like others
//   GRANTED(n)   notes that the claim v_id of v_session was granted with the number n; BYTES(n) are eight
//
// A claim has a lock of its own on the connection of its client, 'm:' and its id, for which the one behind it waits. But one that
// waits before another of the same client has none, since nobody else waits for it: a connection with thousands of locks is slow.
//
// A client whose claims wait has a second connection, on which it runs mortise_await. That has the lock 'mortise.w.' and the
// session's number while it runs. It waits for the lock of one claim, and says so by the lock 'v:' and that id: when this claim
// leaves, it is awake, and goes on with the next one. For all others it is woken by KILL QUERY, which the definer of a routine may do to its own routines. Whoever is
// woken looks what was granted, and so does every new mortise_await before it sleeps: so nobody need be woken that was not asleep. If
// there is no claim to wait for, it waits for the lock 'mortise.s.' and the number, which the client's first connection has. Not in
// SLEEP(): that shares a mutex with all others that sleep, and while it is taken, KILL pauses for 50 ms.
//
// The stripe of a name is `floored` from the first exchange that is asked for on. Until then a line whose head is a lock for one
// is simple: its holder is its first, and the next is its second. That is what mortise_enter and mortise_leave try first.
#pragma once

#include <mortise/config.hpp>

#include <span>
#include <string_view>

namespace mortise::inline v0::stores::mysql {

std::span<const std::string_view> row_tables();
std::span<const std::string_view> line_routines();     // claims enter, look, leave, and are granted
std::span<const std::string_view> session_routines();  // clients wake each other, renew, ask and sweep

}  // namespace mortise::inline v0::stores::mysql
