#include "stores/mysql/statements.hpp"

namespace mortise::inline v0::stores::mysql {
namespace {

// Names of user-level locks have at most 64 characters, do not tell a from A, and are the whole server's. So they are a digest of
// the database and the name: 224 bits, which no two names share in practice.
std::string lock_of(const std::string& name) {
    return "CONCAT('mortise:', LEFT(SHA2(CONCAT(CAST(DATABASE() AS BINARY), '/', " + name + "), 256), 56))";
}

// A lock that whoever has locked the row of a name has too: that it is held can be seen by it.
std::string beacon_of(const std::string& name) {
    return "CONCAT('mortise:row:', LEFT(SHA2(CONCAT(CAST(DATABASE() AS BINARY), '/', " + name + "), 256), 52))";
}

const std::string age = "TIMESTAMPDIFF(MICROSECOND, since, CURRENT_TIMESTAMP(6))";

}  // namespace

bound_statements::bound_statements(strategy by)
    : who{"SELECT CONNECTION_ID()"},
      stamp{"INSERT INTO mortise_holds(name, session, host, pid, label, since) VALUES(?, ?, ?, ?, ?, SYSDATE(6))"},
      // Not waiting for whoever has locked the row: it runs on the connection that all share. Each server reads its own comment.
      make_row{
          "/*M! SET STATEMENT innodb_lock_wait_timeout=0 FOR */ "
          "INSERT /*+ SET_VAR(innodb_lock_wait_timeout=1) */ IGNORE INTO mortise_rows(name) VALUES(?)"},
      forget_range{"DELETE FROM mortise_holds WHERE token BETWEEN ? AND ? AND session = ?"},
      stop{"KILL QUERY ?"},
      kill{"KILL ?"} {
    const bool get_lock = by == strategy::get_lock;
    // Whether the connection that made a record still has the lock.
    const std::string alive = get_lock ? "IS_USED_LOCK(" + lock_of("name") + ") = session"
                                       : "IS_USED_LOCK(" + beacon_of("name") + ") = session";
    if (get_lock) {
        // One statement takes the lock and commits a token; nobody can get in between. Its first condition keeps it from a
        // connection that has silently taken another's place.
        take.text =
            "INSERT INTO mortise_holds(name, session, host, pid, label, since) "
            "SELECT ?, CONNECTION_ID(), ?, ?, ?, SYSDATE(6) FROM DUAL WHERE CONNECTION_ID() = ? AND GET_LOCK(" +
            lock_of("?") + ", ?) = 1";
        take_now = take;
        free.text = "DO RELEASE_LOCK(" + lock_of("?") + ")";
    } else {
        take.text = "SELECT CONNECTION_ID(), GET_LOCK(" + beacon_of("name") +
                    ", 0) FROM mortise_rows WHERE name = ? FOR UPDATE";
        take_now.text = take.text + " NOWAIT";
        // To switch autocommit on is to commit: so one statement frees both.
        free.text = "SET autocommit = IF(RELEASE_ALL_LOCKS() IS NULL, 1, 1), autocommit = 0";
        greets.push_back({"SET autocommit = 0"});
        schema.push_back(
            {"CREATE TABLE IF NOT EXISTS mortise_rows("
             "name VARBINARY(200) NOT NULL PRIMARY KEY) ENGINE=InnoDB"});
    }
    schema.push_back(
        {"CREATE TABLE IF NOT EXISTS mortise_holds("
         "token BIGINT UNSIGNED NOT NULL AUTO_INCREMENT PRIMARY KEY, "
         "name VARBINARY(200) NOT NULL, "
         "session BIGINT UNSIGNED NOT NULL, "
         "host VARBINARY(255) NOT NULL, "
         "pid BIGINT NOT NULL, "
         "label VARBINARY(200) NOT NULL, "
         "since DATETIME(6) NOT NULL) ENGINE=InnoDB"});
    forget_dead.text = "DELETE FROM mortise_holds WHERE token < ? AND COALESCE(" + alive + ", 0) = 0 LIMIT 1000";
    holder.text = "SELECT token, host, pid, label, " + age + " FROM mortise_holds WHERE name = ? AND " + alive +
                  " ORDER BY token DESC LIMIT 1";
    list.text = "SELECT name, token, host, pid, label, " + age + " FROM mortise_holds WHERE " + alive +
                " ORDER BY name, token DESC";
    find.text = "SELECT session FROM mortise_holds WHERE token = ? AND name = ? AND " + alive +
                " AND token = (SELECT MAX(newest.token) FROM mortise_holds AS newest WHERE newest.name = ?)";
}

}  // namespace mortise::inline v0::stores::mysql
