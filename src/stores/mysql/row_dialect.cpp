#include "stores/mysql/row_dialect.hpp"

#include <string>
#include <string_view>

namespace mortise::inline v0::stores::mysql {
namespace {

// In these texts
//   NOW_US       is the time: microseconds since 1970, at the moment and not when the statement began
//   LOCK_NAME    begins a transaction, and locks the name for its time. Rows that are never deleted are locked, so that no gap
//                is, and no deadlock follows.
//   LINE(until)  reads the line up to a place, see sql/row_line.cpp
// A claim has a lock of its own on the connection of its client ('m:' and its id), for which those behind it wait. The client has
// one, too ('mortise.' and its session): if nobody has it, the client is dead.
constexpr std::string_view tables[] = {
    R"sql(CREATE TABLE IF NOT EXISTS mortise_stripes (stripe INT NOT NULL PRIMARY KEY) ENGINE = InnoDB)sql",
    R"sql(INSERT IGNORE INTO mortise_stripes SELECT a.n + 4 * b.n + 16 * c.n + 64 * d.n + 256 * e.n
FROM (SELECT 0 n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) a,
     (SELECT 0 n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) b,
     (SELECT 0 n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) c,
     (SELECT 0 n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) d,
     (SELECT 0 n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) e)sql",
    R"sql(CREATE TABLE IF NOT EXISTS mortise_claims (
    seq BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
    stands BIGINT NOT NULL,
    place BIGINT NOT NULL,
    swaps BIGINT NOT NULL,
    name VARBINARY(255) NOT NULL,
    id VARBINARY(16) NOT NULL,
    session BIGINT NOT NULL,
    capacity BIGINT NOT NULL,
    weight BIGINT NOT NULL,
    instead_of VARBINARY(16),
    confirmed BIGINT NOT NULL,
    expires BIGINT NOT NULL,
    since BIGINT NOT NULL,
    host VARBINARY(255) NOT NULL,
    pid BIGINT NOT NULL,
    label VARBINARY(255) NOT NULL,
    UNIQUE KEY by_id (id),
    KEY line (name, swaps, stands),
    KEY by_session (session)) ENGINE = InnoDB)sql",
    R"sql(CREATE TABLE IF NOT EXISTS mortise_floors (name VARBINARY(255) NOT NULL PRIMARY KEY, floor BIGINT NOT NULL) ENGINE = InnoDB)sql",
    R"sql(CREATE TABLE IF NOT EXISTS mortise_gone (id VARBINARY(16) NOT NULL PRIMARY KEY, until BIGINT NOT NULL,
    released BIGINT NOT NULL) ENGINE = InnoDB)sql",
};

constexpr std::string_view routines[] = {
    // Removes what has expired or died at the head of a line. o_used: the weight of those who hold, -1 if somebody waits;
    // o_room: their capacity; o_mine: p_me may hold; o_swapping: somebody waits to replace a hold.
    R"sql(CREATE PROCEDURE IF NOT EXISTS mortise_settle(p_name VARBINARY(255), p_session BIGINT, p_me VARBINARY(16), p_now BIGINT,
    OUT o_mine BIGINT, OUT o_used BIGINT, OUT o_room BIGINT, OUT o_swapping BIGINT)
BEGIN
    DECLARE v_seq, v_session, v_capacity, v_weight, v_place, v_expires, v_stands BIGINT;
    DECLARE v_id VARBINARY(16);
    DELETE FROM mortise_claims WHERE name = p_name AND expires <= p_now;
    SET o_mine = 0, o_swapping = 0, o_room = NULL;
    SET v_stands = -1;
    swap_loop: LOOP
        SET v_seq = NULL;
        SELECT seq, session, stands INTO v_seq, v_session, v_stands FROM mortise_claims
            WHERE name = p_name AND swaps = 1 AND stands > v_stands ORDER BY stands LIMIT 1;
        IF v_seq IS NULL THEN LEAVE swap_loop; END IF;
        IF v_session <> p_session AND IS_USED_LOCK(CONCAT('mortise.', HEX(v_session))) IS NULL THEN
            DELETE FROM mortise_claims WHERE seq = v_seq;
        ELSE
            SET o_swapping = 1;
        END IF;
    END LOOP;
    SELECT COALESCE(SUM(weight), 0), MIN(capacity) INTO o_used, o_room FROM mortise_claims
        WHERE name = p_name AND swaps = 0 AND confirmed = 1;
    SET v_stands = -1;
    wait_loop: LOOP
        SET v_seq = NULL;
        SELECT seq, id, session, capacity, weight, place, stands
            INTO v_seq, v_id, v_session, v_capacity, v_weight, v_place, v_stands FROM mortise_claims
            WHERE name = p_name AND swaps = 0 AND confirmed = 0 AND stands > v_stands ORDER BY stands LIMIT 1;
        IF v_seq IS NULL THEN LEAVE wait_loop; END IF;
        IF (o_room IS NULL OR o_used + v_weight <= o_room OR v_capacity <> o_room) AND v_session <> p_session
            AND IS_USED_LOCK(CONCAT('mortise.', HEX(v_session))) IS NULL THEN
            DELETE FROM mortise_claims WHERE seq = v_seq;
            ITERATE wait_loop;
        END IF;
        SET o_room = COALESCE(o_room, v_capacity);
        IF v_capacity <> o_room OR o_used + v_weight > o_room THEN
            SET o_used = -1;
            LEAVE wait_loop;
        END IF;
        SET o_used = o_used + v_weight;
        IF v_id = p_me THEN SET o_mine = (o_swapping = 0 OR v_place <> 0); END IF;
    END LOOP;
END)sql",
    R"sql(CREATE PROCEDURE IF NOT EXISTS mortise_enter(p_name VARBINARY(255), p_id VARBINARY(16), p_session BIGINT, p_capacity BIGINT,
    p_weight BIGINT, p_instead VARBINARY(16), p_only BIGINT, p_lease BIGINT, p_wait BIGINT, p_host VARBINARY(255),
    p_pid BIGINT, p_label VARBINARY(255), p_most BIGINT)
BEGIN
    DECLARE v_now, v_mine, v_used, v_room, v_swapping, v_seq, v_stands, v_swaps, v_expires, v_fits, v_until, v_lock BIGINT;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    IF @mortise_session IS NULL OR @mortise_session <> p_session THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'another session answers: a pooler shares connections';
    END IF;
    LOCK_NAME
    SET v_now = NOW_US, v_until = 9223372036854775807;
    IF NOT EXISTS (SELECT 1 FROM mortise_gone WHERE id = p_id) THEN
        SELECT seq, stands, swaps, expires INTO v_seq, v_stands, v_swaps, v_expires FROM mortise_claims WHERE id = p_id;
        IF v_seq IS NOT NULL AND v_expires <= v_now THEN
            DELETE FROM mortise_claims WHERE seq = v_seq;
            SET v_seq = NULL;
        END IF;
        IF v_seq IS NOT NULL THEN
            IF v_swaps = 0 THEN SET v_until = v_stands; END IF;
        ELSE
            CALL mortise_settle(p_name, p_session, p_id, v_now, v_mine, v_used, v_room, v_swapping);
            SET v_fits = p_instead IS NULL AND v_swapping = 0 AND v_used >= 0 AND v_used + p_weight <= p_capacity
                AND COALESCE(v_room, p_capacity) = p_capacity;
            IF v_fits OR p_only = 0 THEN
                INSERT INTO mortise_claims (stands, place, swaps, name, id, session, capacity, weight, instead_of, confirmed,
                    expires, since, host, pid, label) VALUES (0, 0, p_instead IS NOT NULL, p_name, p_id, p_session, p_capacity,
                    p_weight, p_instead, v_fits, v_now + IF(v_fits, p_lease, p_wait), v_now, p_host, p_pid, p_label);
                SET v_seq = LAST_INSERT_ID();
                UPDATE mortise_claims SET stands = v_seq WHERE seq = v_seq;
                SET v_lock = GET_LOCK(CONCAT('m:', HEX(p_id)), 0);
            END IF;
        END IF;
    END IF;
    LINE(v_until)
    COMMIT;
END)sql",
    R"sql(CREATE PROCEDURE IF NOT EXISTS mortise_look(p_name VARBINARY(255), p_id VARBINARY(16), p_session BIGINT, p_lease BIGINT,
    p_most BIGINT)
BEGIN
    DECLARE v_now, v_mine, v_used, v_room, v_swapping, v_seq, v_stands, v_swaps, v_until BIGINT;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    LOCK_NAME
    SET v_now = NOW_US, v_until = 9223372036854775807;
    CALL mortise_settle(p_name, p_session, p_id, v_now, v_mine, v_used, v_room, v_swapping);
    SELECT seq, stands, swaps INTO v_seq, v_stands, v_swaps FROM mortise_claims WHERE id = p_id;
    IF v_seq IS NOT NULL AND v_swaps = 0 THEN
        SET v_until = v_stands;
        IF v_mine AND NOT EXISTS (SELECT 1 FROM mortise_floors WHERE name = p_name AND floor > v_seq) THEN
            UPDATE mortise_claims SET confirmed = 1, expires = v_now + p_lease, since = v_now WHERE seq = v_seq;
        END IF;
    END IF;
    LINE(v_until)
    COMMIT;
END)sql",
    R"sql(CREATE PROCEDURE IF NOT EXISTS mortise_confirm(p_id VARBINARY(16), p_lease BIGINT)
BEGIN
    DECLARE v_now, v_seq, v_expires BIGINT;
    SET v_now = NOW_US;
    SELECT seq INTO v_seq FROM mortise_claims WHERE id = p_id;
    UPDATE mortise_claims SET confirmed = 1, expires = GREATEST(expires, v_now + p_lease), since = v_now
        WHERE seq = v_seq AND expires > v_now;
    SELECT seq INTO v_expires FROM mortise_claims WHERE seq = v_seq AND confirmed = 1 AND expires > v_now;
    SELECT COALESCE(v_expires, 0);
END)sql",
    R"sql(CREATE PROCEDURE IF NOT EXISTS mortise_leave(p_name VARBINARY(255), p_id VARBINARY(16), p_session BIGINT, p_mark BIGINT)
BEGIN
    DECLARE v_now, v_mine, v_used, v_room, v_swapping, v_seq, v_place, v_expires, v_there, v_took, v_lock BIGINT;
    DECLARE v_instead VARBINARY(16);
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    LOCK_NAME
    SET v_now = NOW_US;
    SELECT seq, place, expires, instead_of INTO v_seq, v_place, v_expires, v_instead FROM mortise_claims
        WHERE id = p_id AND name = p_name;
    SET v_there = v_seq IS NOT NULL AND v_expires > v_now, v_took = v_seq IS NOT NULL AND v_place <> 0 AND v_instead IS NOT NULL;
    IF v_seq IS NOT NULL THEN
        DELETE FROM mortise_claims WHERE seq = v_seq;
    ELSE
        SELECT released INTO v_there FROM mortise_gone WHERE id = p_id;
    END IF;
    IF p_mark > 0 OR (p_mark < 0 AND v_seq IS NOT NULL) THEN
        REPLACE INTO mortise_gone VALUES (p_id, v_now + ABS(p_mark), COALESCE(v_there, 0));
    END IF;
    CALL mortise_settle(p_name, p_session, NULL, v_now, v_mine, v_used, v_room, v_swapping);
    IF v_room IS NULL AND v_swapping = 0 THEN DELETE FROM mortise_floors WHERE name = p_name; END IF;
    COMMIT;
    SET v_lock = RELEASE_LOCK(CONCAT('m:', HEX(p_id)));
    SELECT COALESCE(v_there, 0), COALESCE(v_took, 0), v_room IS NOT NULL;
END)sql",
    R"sql(CREATE PROCEDURE IF NOT EXISTS mortise_move(p_name VARBINARY(255), p_id VARBINARY(16), p_old VARBINARY(16),
    p_guards VARBINARY(60000), p_floor BIGINT, p_session BIGINT, p_lease BIGINT)
move_body: BEGIN
    DECLARE v_now, v_seq, v_place, v_capacity, v_weight, v_pid, v_owner, v_lock BIGINT;
    DECLARE v_instead VARBINARY(16);
    DECLARE v_host, v_label VARBINARY(255);
    DECLARE i INT DEFAULT 0;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    LOCK_NAME
    SET v_now = NOW_US;
    IF COALESCE((SELECT floor FROM mortise_floors WHERE name = p_name), 0) <> p_floor THEN
        ROLLBACK;
        SELECT 0;
        LEAVE move_body;
    END IF;
    WHILE i < LENGTH(p_guards) / 16 DO
        IF NOT EXISTS (SELECT 1 FROM mortise_claims WHERE id = SUBSTRING(p_guards, 1 + 16 * i, 16) AND expires > v_now) THEN
            ROLLBACK;
            SELECT 0;
            LEAVE move_body;
        END IF;
        SET i = i + 1;
    END WHILE;
    SELECT stands INTO v_place FROM mortise_claims WHERE id = p_old;
    SELECT session, capacity, weight, instead_of, host, pid, label
        INTO v_owner, v_capacity, v_weight, v_instead, v_host, v_pid, v_label FROM mortise_claims WHERE id = p_id;
    IF v_place IS NULL OR v_owner IS NULL THEN
        ROLLBACK;
        SELECT 0;
        LEAVE move_body;
    END IF;
    DELETE FROM mortise_claims WHERE id = p_old;
    DELETE FROM mortise_claims WHERE id = p_id;
    INSERT INTO mortise_claims (stands, place, swaps, name, id, session, capacity, weight, instead_of, confirmed, expires,
        since, host, pid, label) VALUES (v_place, v_place, 0, p_name, p_id, v_owner, v_capacity, v_weight, v_instead, 1,
        v_now + p_lease, v_now, v_host, v_pid, v_label);
    SET v_seq = LAST_INSERT_ID();
    REPLACE INTO mortise_floors VALUES (p_name, v_seq);
    COMMIT;
    IF p_old <> p_id THEN SET v_lock = RELEASE_LOCK(CONCAT('m:', HEX(p_old))); END IF;
    SELECT v_seq;
END)sql",
    R"sql(CREATE PROCEDURE IF NOT EXISTS mortise_renew(p_records LONGBLOB)
BEGIN
    DECLARE v_now, v_seq, v_alive BIGINT;
    DECLARE v_all LONGBLOB DEFAULT '';
    DECLARE v_id VARBINARY(16);
    DECLARE i INT DEFAULT 0;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    SET v_now = NOW_US;
    WHILE i < LENGTH(p_records) / 24 DO
        SET v_id = SUBSTRING(p_records, 1 + 24 * i, 16), v_seq = NULL, v_alive = NULL;
        SELECT seq INTO v_seq FROM mortise_claims WHERE id = v_id;
        UPDATE mortise_claims SET expires = GREATEST(expires,
            v_now + CAST(CONV(HEX(SUBSTRING(p_records, 17 + 24 * i, 8)), 16, 10) AS SIGNED))
            WHERE seq = v_seq AND confirmed = 1 AND expires > v_now;
        SELECT 1 INTO v_alive FROM mortise_claims WHERE seq = v_seq AND confirmed = 1 AND expires > v_now;
        IF v_alive THEN SET v_all = CONCAT(v_all, v_id); END IF;
        SET i = i + 1;
    END WHILE;
    COMMIT;
    SELECT v_all;
END)sql",
    R"sql(CREATE PROCEDURE IF NOT EXISTS mortise_beat(p_session BIGINT, p_wait BIGINT)
BEGIN
    DECLARE v_now, v_first, v_session, v_expires, v_lock, v_swaps BIGINT;
    DECLARE v_name VARBINARY(255);
    DECLARE v_id, v_head VARBINARY(16);
    DECLARE v_all LONGBLOB DEFAULT '';
    DECLARE v_done INT DEFAULT 0;
    DECLARE mine CURSOR FOR SELECT name, swaps, MIN(stands) FROM mortise_claims
        WHERE session = p_session AND confirmed = 0 GROUP BY name, swaps;
    DECLARE CONTINUE HANDLER FOR NOT FOUND SET v_done = 1;
    IF NOT (IS_USED_LOCK(CONCAT('mortise.', HEX(p_session))) <=> CONNECTION_ID()) THEN
        SET v_lock = GET_LOCK(CONCAT('mortise.', HEX(p_session)), 0);
    END IF;
    SET v_now = NOW_US;
    UPDATE mortise_claims SET expires = v_now + p_wait WHERE session = p_session AND confirmed = 0;
    OPEN mine;
    each_name: LOOP
        SET v_done = 0;
        FETCH mine INTO v_name, v_swaps, v_first;
        IF v_done THEN LEAVE each_name; END IF;
        SET v_id = NULL, v_head = NULL;
        SELECT id INTO v_id FROM mortise_claims WHERE name = v_name AND swaps = v_swaps AND stands = v_first LIMIT 1;
        SELECT id, session, expires INTO v_head, v_session, v_expires FROM mortise_claims
            WHERE name = v_name AND swaps = 0 AND confirmed = 0 ORDER BY stands LIMIT 1;
        IF v_swaps = 1 OR v_head = v_id OR v_expires <= v_now
            OR (v_session <> p_session AND IS_USED_LOCK(CONCAT('mortise.', HEX(v_session))) IS NULL)
            OR EXISTS (SELECT 1 FROM mortise_claims WHERE name = v_name AND expires <= v_now) THEN
            SET v_all = CONCAT(v_all, COALESCE(v_id, ''));
        END IF;
    END LOOP;
    CLOSE mine;
    SELECT v_all;
END)sql",
    R"sql(CREATE PROCEDURE IF NOT EXISTS mortise_break(p_name VARBINARY(255), p_counter BIGINT, p_session BIGINT)
BEGIN
    DECLARE v_count BIGINT;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    LOCK_NAME
    SELECT COUNT(*) INTO v_count FROM mortise_claims WHERE seq = p_counter AND name = p_name AND confirmed = 1;
    DELETE FROM mortise_claims WHERE seq = p_counter AND name = p_name AND confirmed = 1;
    COMMIT;
    SELECT v_count;
END)sql",
    R"sql(CREATE PROCEDURE IF NOT EXISTS mortise_sweep(p_name VARBINARY(255), p_session BIGINT)
BEGIN
    DECLARE v_mine, v_used, v_room, v_swapping BIGINT;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    LOCK_NAME
    CALL mortise_settle(p_name, p_session, NULL, NOW_US, v_mine, v_used, v_room, v_swapping);
    IF v_room IS NULL AND v_swapping = 0 THEN DELETE FROM mortise_floors WHERE name = p_name; END IF;
    COMMIT;
    SELECT 1;
END)sql",
};

constexpr std::string_view now_us = "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)";
constexpr std::string_view lock_name =
    "START TRANSACTION; SELECT stripe INTO @mortise_stripe FROM mortise_stripes WHERE stripe = CRC32(p_name) % 1024 "
    "FOR UPDATE;";
constexpr std::string_view line =
    R"sql((SELECT COALESCE((SELECT floor FROM mortise_floors WHERE name = p_name), 0) AS seq, 0 AS stands, 0 AS place, NULL AS id,
        0 AS capacity, 0 AS weight, NULL AS instead_of, 0 AS confirmed, 0 AS left_us, 0 AS held_us, NULL AS host, 0 AS pid,
        NULL AS label)
    UNION ALL (SELECT seq, stands, place, id, capacity, weight, instead_of, confirmed, expires - v_now, v_now - since, host, pid, label
        FROM mortise_claims WHERE name = p_name AND swaps = 1)
    UNION DISTINCT (SELECT seq, stands, place, id, capacity, weight, instead_of, confirmed, expires - v_now, v_now - since, host, pid,
        label FROM mortise_claims WHERE name = p_name AND swaps = 0 ORDER BY stands LIMIT 1)
    UNION DISTINCT (SELECT seq, stands, place, id, capacity, weight, instead_of, confirmed, expires - v_now, v_now - since, host, pid,
        label FROM mortise_claims WHERE name = p_name AND swaps = 0 AND stands <= v_until ORDER BY stands DESC LIMIT p_most);)sql";

std::string filled_in(std::string_view text) {
    std::string made{text};
    const auto replace = [&](std::string_view what, std::string_view by) {
        for (auto at = made.find(what); at != made.npos; at = made.find(what, at + by.size()))
            made.replace(at, what.size(), by);
    };
    replace("NOW_US", now_us);
    replace("LOCK_NAME", lock_name);
    replace("LINE(v_until)", line);
    return made;
}

}  // namespace

sql::row_dialect row_dialect() {
    sql::row_dialect is;
    for (const std::string_view one : tables) is.schema.push_back({.text = filled_in(one), .direct = true});
    for (const std::string_view one : routines) is.schema.push_back({.text = filled_in(one), .direct = true});
    const auto made = [](std::string_view text) { return sql::statement{.text = filled_in(text)}; };
    is.greeting = {
        made("SET @mortise_session = ?, SESSION time_zone = '+00:00', SESSION innodb_lock_wait_timeout = 2"),
        {.text = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", .direct = true},
        made("SELECT GET_LOCK(CONCAT('mortise.', HEX(?)), 1)"),
    };
    is.enter = made("CALL mortise_enter(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    is.look = made("CALL mortise_look(?, ?, ?, ?, ?)");
    is.confirm = made("CALL mortise_confirm(?, ?)");
    is.leave = made("CALL mortise_leave(?, ?, ?, ?)");
    is.move = made("CALL mortise_move(?, ?, ?, ?, ?, ?, ?)");
    is.renew = made("CALL mortise_renew(?)");
    is.beat = made("CALL mortise_beat(?, ?)");
    is.list = made(
        "SELECT c.name, c.seq, c.capacity, c.weight, c.host, c.pid, c.label, c.expires - NOW_US, NOW_US - c.since, "
        "(SELECT COUNT(*) FROM mortise_claims w WHERE w.name = c.name AND w.confirmed = 0) "
        "FROM mortise_claims c WHERE c.confirmed = 1 AND c.expires > NOW_US ORDER BY c.name, c.stands");
    is.break_hold = made("CALL mortise_break(?, ?, ?)");
    is.overdue = made("SELECT DISTINCT name FROM mortise_claims WHERE expires <= NOW_US LIMIT 16");
    is.sweep = made("CALL mortise_sweep(?, ?)");
    is.sweep_marks = made("DELETE FROM mortise_gone WHERE until <= NOW_US LIMIT 100");
    return is;
}

const sql::statement& await_row() {
    static const sql::statement one{.text =
                                        "SELECT GET_LOCK(CONCAT('m:', HEX(?)), ?), RELEASE_LOCK(CONCAT('m:', HEX(?)))"};
    return one;
}

}  // namespace mortise::inline v0::stores::mysql
