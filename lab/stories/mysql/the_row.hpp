// The lock of M1: a row with a unique name. INSERT takes it, DELETE frees it. With the columns that the document adds.
#pragma once

#include "lab/stage/actor.hpp"
#include "lab/stage/traced_sql.hpp"
#include "lab/stories/ours.hpp"

#include <chrono>
#include <string>

namespace lab::the_row {

inline constexpr const char* table = "CREATE TABLE locks(lock_name VARCHAR(64) PRIMARY KEY) ENGINE=InnoDB";

inline constexpr const char* table_with_owner =
    "CREATE TABLE locks(lock_name VARCHAR(64) PRIMARY KEY, owner VARCHAR(64)) ENGINE=InnoDB";

inline constexpr const char* table_with_expiry =
    "CREATE TABLE locks(lock_name VARCHAR(64) PRIMARY KEY, owner VARCHAR(64), expires DATETIME(6)) ENGINE=InnoDB";

inline bool take(traced_sql& sql, const std::string& owner) {
    return sql("INSERT INTO locks VALUES('ticket', '" + owner + "', NOW(6) + INTERVAL 10 MINUTE)").ok();
}

inline void free(traced_sql& sql) {
    sql("DELETE FROM locks WHERE lock_name = 'ticket'");
}

// What the timed task of the document does.
inline void sweep(actor& me) {
    traced_sql sql{me};
    sql("DELETE FROM locks WHERE expires < NOW(6)");
}

// Of ours: longer than any machine takes for a story, since the server's clock goes on.
inline constexpr std::chrono::minutes lease{5};

// Inside, and then out by a DELETE.
inline void stay(actor& me, traced_sql& sql) {
    me.holds();
    me.at("inside");
    me.lets_go();
    free(sql);
}

// The same under a lock of ours, whose lease is as long as the row's.
template <class Mutex = mortise::mutex>
void stay_under_ours(actor& me) {
    Mutex tickets{me.locks(), "ticket", {.lease = lease}};
    tickets.lock();
    me.holds(tickets.hold());
    me.at("inside");
    me.lets_go();
    tickets.unlock();
}

}  // namespace lab::the_row
