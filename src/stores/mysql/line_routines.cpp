#include "stores/mysql/row_routines.hpp"

#include <mortise/config.hpp>

namespace mortise::inline v0::stores::mysql {
namespace {

constexpr std::string_view table_texts[] = {
    R"sql(CREATE TABLE IF NOT EXISTS mortise_stripes (stripe INT NOT NULL PRIMARY KEY, number BIGINT NOT NULL DEFAULT 0,
    floored INT NOT NULL DEFAULT 0) ENGINE = InnoDB)sql",
    R"sql(INSERT IGNORE INTO mortise_stripes (stripe) SELECT a.n + 4 * b.n + 16 * c.n + 64 * d.n + 256 * e.n
FROM (SELECT 0 n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) a,
     (SELECT 0 n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) b,
     (SELECT 0 n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) c,
     (SELECT 0 n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) d,
     (SELECT 0 n UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3) e)sql",
    R"sql(CREATE TABLE IF NOT EXISTS mortise_claims (
    seq BIGINT NOT NULL PRIMARY KEY,
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
    grace BIGINT NOT NULL,
    trusted BIGINT NOT NULL,
    host VARBINARY(255) NOT NULL,
    pid BIGINT NOT NULL,
    label VARBINARY(255) NOT NULL,
    UNIQUE KEY by_id (id),
    KEY line (name, swaps, stands)) ENGINE = InnoDB)sql",
    R"sql(CREATE TABLE IF NOT EXISTS mortise_floors (name VARBINARY(255) NOT NULL PRIMARY KEY, floor BIGINT NOT NULL) ENGINE = InnoDB)sql",
    R"sql(CREATE TABLE IF NOT EXISTS mortise_gone (id VARBINARY(16) NOT NULL PRIMARY KEY, until BIGINT NOT NULL,
    released BIGINT NOT NULL) ENGINE = InnoDB)sql",
};

constexpr std::string_view line_texts[] = {
    // Removes what has expired or died at the head of a line, and grants whatever fits by then (with a new number, if an exchange
    // went before it: see base/line.hpp). o_used: the weight of those who hold,
    // -1 if somebody waits; o_room: their capacity; o_mine: p_me may hold, which is left to the caller; o_swapping: the
    // first that waits to replace a hold, or 0. @mortise_wakes: something has changed, so that those who wait for that are told.
    R"sql(CREATE PROCEDURE IF NOT EXISTS mortise_settle(p_name VARBINARY(255), p_session BIGINT, p_me VARBINARY(16), p_now BIGINT,
    p_floored BIGINT, OUT o_mine BIGINT, OUT o_used BIGINT, OUT o_room BIGINT, OUT o_swapping BIGINT)
BEGIN
    DECLARE v_seq, v_session, v_capacity, v_weight, v_place, v_confirmed, v_expires, v_grace, v_stands, v_floor, v_number,
        v_swaps, v_last BIGINT;
    DECLARE v_id VARBINARY(16);
    SET o_mine = 0;
    settle_loop: LOOP
        SET o_swapping = 0, v_stands = -1, o_used = 0, o_room = NULL;
        SELECT MAX(swaps) INTO v_swaps FROM mortise_claims WHERE name = p_name;
        IF v_swaps IS NULL THEN LEAVE settle_loop; END IF;
        swap_loop: WHILE v_swaps = 1 DO
            SET v_seq = NULL;
            SELECT seq, session, stands INTO v_seq, v_session, v_stands FROM mortise_claims
                WHERE name = p_name AND swaps = 1 AND stands > v_stands ORDER BY stands LIMIT 1;
            IF v_seq IS NULL THEN LEAVE swap_loop; END IF;
            IF v_session <> p_session AND DEAD(v_session) THEN
                DELETE FROM mortise_claims WHERE seq = v_seq;
            ELSE
                SET o_swapping = IF(o_swapping = 0, v_seq, LEAST(o_swapping, v_seq));
                IF @mortise_wakes AND NOT FIND_IN_SET(v_session, COALESCE(@mortise_told, '')) THEN
                    SET @mortise_told = CONCAT_WS(',', @mortise_told, v_session);
                END IF;
            END IF;
        END WHILE;
        SET v_seq = NULL;
        SELECT seq, id, session, capacity, weight, place, confirmed, grace, stands
            INTO v_seq, v_id, v_session, v_capacity, v_weight, v_place, v_confirmed, v_grace, v_stands FROM mortise_claims
            WHERE name = p_name AND swaps = 0 AND confirmed = 0 ORDER BY stands LIMIT 1;
        IF v_seq IS NULL THEN SET v_stands = 9223372036854775807; END IF;
        SELECT COALESCE(SUM(weight), 0), MIN(capacity), MIN(expires), MAX(confirmed) INTO o_used, o_room, v_expires, v_last
            FROM mortise_claims WHERE name = p_name AND swaps = 0 AND stands < v_stands;
        IF v_expires <= p_now THEN
            DELETE FROM mortise_claims WHERE name = p_name AND swaps = 0 AND stands < v_stands AND expires <= p_now;
            ITERATE settle_loop;
        END IF;
        IF v_last = 2 THEN
            DELETE FROM mortise_claims WHERE name = p_name AND swaps = 0 AND stands < v_stands AND confirmed = 2
                AND since + trusted <= p_now AND session <> p_session AND DEAD(session);
            IF ROW_COUNT() > 0 THEN ITERATE settle_loop; END IF;
        END IF;
        WHILE v_seq IS NOT NULL DO
            IF v_confirmed = 0 AND v_session <> p_session AND DEAD(v_session) THEN
                DELETE FROM mortise_claims WHERE name = p_name AND session = v_session AND confirmed = 0;
                ITERATE settle_loop;
            END IF;
            SET o_room = COALESCE(o_room, v_capacity);
            IF v_capacity <> o_room OR o_used + v_weight > o_room THEN
                SET o_used = -1;
                LEAVE settle_loop;
            END IF;
            SET o_used = o_used + v_weight;
            IF v_confirmed = 0 THEN
                IF v_floor IS NULL AND p_floored THEN SET v_floor = COALESCE((SELECT floor FROM mortise_floors WHERE name = p_name), 0); END IF;
                IF o_swapping > 0 AND o_swapping < v_seq AND v_place = 0 THEN
                    DO 0;
                ELSEIF v_floor > v_seq THEN
                    NEXT_NUMBER
                    UPDATE mortise_claims SET seq = v_number, place = stands, confirmed = 2, expires = p_now + v_grace,
                        since = p_now WHERE seq = v_seq;
                    UPDATE mortise_floors SET floor = v_number WHERE name = p_name;
                    SET v_floor = v_number;
                    GRANTED(v_number)
                ELSEIF v_id <=> p_me THEN
                    SET o_mine = 1;
                ELSE
                    UPDATE mortise_claims SET confirmed = 2, expires = p_now + v_grace, since = p_now WHERE seq = v_seq;
                    GRANTED(v_seq)
                END IF;
            END IF;
            SET v_seq = NULL;
            SELECT seq, id, session, capacity, weight, place, confirmed, grace, stands
                INTO v_seq, v_id, v_session, v_capacity, v_weight, v_place, v_confirmed, v_grace, v_stands FROM mortise_claims
                WHERE name = p_name AND swaps = 0 AND stands > v_stands ORDER BY stands LIMIT 1;
        END WHILE;
        LEAVE settle_loop;
    END LOOP;
END)sql",
    R"sql(CREATE PROCEDURE IF NOT EXISTS mortise_look_within(p_name VARBINARY(255), p_id VARBINARY(16), p_session BIGINT,
    p_lease BIGINT, p_most BIGINT, v_now BIGINT, v_floored BIGINT)
BEGIN
    DECLARE v_mine, v_used, v_room, v_swapping, v_seq, v_stands, v_swaps, v_confirmed BIGINT;
    DECLARE v_until BIGINT DEFAULT 9223372036854775807;
    CALL mortise_settle(p_name, p_session, p_id, v_now, v_floored, v_mine, v_used, v_room, v_swapping);
    SELECT seq, stands, swaps, confirmed INTO v_seq, v_stands, v_swaps, v_confirmed FROM mortise_claims WHERE id = p_id;
    IF v_seq IS NOT NULL AND v_swaps = 0 THEN
        SET v_until = v_stands;
        IF v_mine OR v_confirmed = 2 THEN
            UPDATE mortise_claims SET confirmed = 1, expires = v_now + p_lease, since = v_now WHERE seq = v_seq;
        END IF;
    END IF;
    LINE(v_until)
END)sql",
    R"sql(CREATE PROCEDURE IF NOT EXISTS mortise_look(p_name VARBINARY(255), p_id VARBINARY(16), p_session BIGINT, p_lease BIGINT,
    p_most BIGINT)
BEGIN
    DECLARE v_floored BIGINT;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    LOCK_NAME
    CALL mortise_look_within(p_name, p_id, p_session, p_lease, p_most, NOW_US, v_floored);
    COMMIT;
    TELL
END)sql",
    R"sql(CREATE PROCEDURE IF NOT EXISTS mortise_enter(p_name VARBINARY(255), p_id VARBINARY(16), p_session BIGINT, p_capacity BIGINT,
    p_weight BIGINT, p_instead VARBINARY(16), p_only BIGINT, p_lease BIGINT, p_grace BIGINT, p_trusted BIGINT, p_host VARBINARY(255),
    p_pid BIGINT, p_label VARBINARY(255), p_most BIGINT)
enter_body: BEGIN
    DECLARE v_now, v_mine, v_used, v_room, v_swapping, v_expires, v_confirmed, v_number, v_known, v_floored, v_session, v_lock BIGINT;
    DECLARE v_before VARBINARY(16);
    DECLARE v_stripe INT DEFAULT CRC32(p_name) % 1024;
    DECLARE v_fits BIGINT DEFAULT 0;
    DECLARE v_until BIGINT DEFAULT 9223372036854775807;
    DECLARE CONTINUE HANDLER FOR 1062 SET v_known = 1;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    IF @mortise_session IS NULL OR @mortise_session <> p_session THEN
        SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'another session answers: a pooler shares connections';
    END IF;
    SET @mortise_told = NULL, @mortise_mine = NULL, @mortise_awake = NULL, @mortise_wakes = NULL, @mortise_stripe = v_stripe;
    START TRANSACTION;
    UPDATE mortise_stripes SET number = LAST_INSERT_ID(number + 1),
        floored = (@mortise_floored := floored OR p_instead IS NOT NULL) WHERE stripe = v_stripe;
    SET v_number = LAST_INSERT_ID() * 1024 + v_stripe, v_floored = @mortise_floored, v_now = NOW_US;
    IF NOT v_floored THEN
        SELECT confirmed, expires, capacity INTO v_confirmed, v_expires, v_room FROM mortise_claims FORCE INDEX (line)
            WHERE name = p_name AND swaps = 0 ORDER BY stands LIMIT 1;
    END IF;
    IF NOT v_floored AND v_confirmed IS NULL THEN
        SET v_used = 0, v_swapping = 0;
    ELSEIF NOT v_floored AND v_confirmed = 1 AND v_room = 1 AND v_expires > v_now THEN
        SET v_used = -1, v_swapping = 0;
    ELSE
        CALL mortise_settle(p_name, p_session, p_id, v_now, v_floored, v_mine, v_used, v_room, v_swapping);
    END IF;
    SET v_fits = p_instead IS NULL AND v_swapping = 0 AND v_used >= 0 AND v_used + p_weight <= p_capacity
        AND COALESCE(v_room, p_capacity) = p_capacity;
    IF v_fits OR p_only = 0 THEN
        INSERT INTO mortise_claims SELECT v_number, v_number, 0, p_instead IS NOT NULL, p_name, p_id, p_session, p_capacity,
            p_weight, p_instead, v_fits, IF(v_fits, v_now + p_lease, v_until), v_now, p_grace, p_trusted, p_host, p_pid, p_label
            FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM mortise_gone WHERE id = p_id);
        IF v_known IS NULL AND ROW_COUNT() = 0 THEN
            ROLLBACK;
            LINE(v_until)
            LEAVE enter_body;
        END IF;
    ELSE
        SELECT 1 INTO v_known FROM mortise_claims WHERE id = p_id;
    END IF;
    IF v_known = 1 THEN
        DELETE FROM mortise_claims WHERE id = p_id AND expires <= v_now;
        CALL mortise_look_within(p_name, p_id, p_session, p_lease, p_most, v_now, v_floored);
        COMMIT;
        TELL
        LEAVE enter_body;
    END IF;
    IF v_fits OR p_only = 0 THEN SET v_lock = GET_LOCK(CONCAT('m:', HEX(p_id)), 0); END IF;
    COMMIT;
    TELL
    IF v_fits THEN
        SELECT v_number AS seq, v_number AS stands, 0 AS place, p_id AS id, p_capacity AS capacity, p_weight AS weight,
            NULL AS instead_of, 1 AS confirmed, p_lease AS left_us, 0 AS held_us, p_host AS host, p_pid AS pid, p_label AS label;
        LEAVE enter_body;
    END IF;
    IF p_only = 0 AND p_instead IS NULL THEN
        SELECT id, session, confirmed INTO v_before, v_session, v_confirmed FROM mortise_claims
            WHERE name = p_name AND swaps = 0 AND stands < v_number ORDER BY stands DESC LIMIT 1;
        IF v_confirmed = 0 AND v_session = p_session THEN SET v_lock = RELEASE_LOCK(CONCAT('m:', HEX(v_before))); END IF;
    END IF;
    LINE(v_until)
END)sql",
    R"sql(CREATE PROCEDURE IF NOT EXISTS mortise_confirm(p_id VARBINARY(16), p_lease BIGINT)
BEGIN
    DECLARE v_now, v_seq, v_expires BIGINT;
    SET v_now = NOW_US;
    SELECT seq INTO v_seq FROM mortise_claims WHERE id = p_id;
    UPDATE mortise_claims SET confirmed = 1, expires = v_now + p_lease, since = v_now WHERE seq = v_seq AND expires > v_now;
    SELECT seq INTO v_expires FROM mortise_claims WHERE seq = v_seq AND confirmed = 1 AND expires > v_now;
    SELECT COALESCE(v_expires, 0);
END)sql",
    R"sql(CREATE PROCEDURE IF NOT EXISTS mortise_leave(p_name VARBINARY(255), p_records LONGBLOB, p_session BIGINT)
leave_body: BEGIN
    DECLARE v_now, v_mine, v_used, v_room, v_swapping, v_seq, v_place, v_expires, v_there, v_took, v_mark, v_floored, v_simple,
        v_stands, v_confirmed, v_end, v_other, v_lock BIGINT;
    DECLARE v_before VARBINARY(16);
    DECLARE v_stripe INT DEFAULT CRC32(p_name) % 1024;
    DECLARE v_instead, v_id VARBINARY(16);
    DECLARE v_all LONGBLOB DEFAULT '';
    DECLARE i INT DEFAULT 0;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    SET @mortise_told = NULL, @mortise_mine = x'', @mortise_awake = NULL, @mortise_wakes = 1, @mortise_simple = NULL,
        @mortise_stripe = v_stripe, v_id = SUBSTRING(p_records, 1, 16);
    START TRANSACTION;
    SELECT s.floored, c.seq, c.stands, c.expires, c.name = p_name AND c.confirmed > 0 AND c.capacity = 1 AND c.instead_of IS NULL
        INTO v_floored, v_seq, v_stands, v_expires, v_simple
        FROM mortise_stripes s LEFT JOIN mortise_claims c ON c.id = v_id WHERE s.stripe = v_stripe FOR UPDATE;
    SET v_now = NOW_US;
    IF v_simple AND v_expires > v_now AND NOT v_floored AND LENGTH(p_records) = 24
        AND SUBSTRING(p_records, 17) = x'0000000000000000' THEN
        DELETE FROM mortise_claims WHERE seq = v_seq;
        UPDATE mortise_claims SET
            confirmed = IF(@mortise_simple := confirmed = 0 AND capacity = 1 AND (session = p_session OR NOT DEAD(session)),
                2, confirmed),
            expires = IF(@mortise_simple, v_now + grace, expires),
            since = IF(@mortise_simple, v_now, since),
            session = (@mortise_told := session),
            pid = IF(session = p_session AND (@mortise_mine := CONCAT(id, BYTES(seq))) IS NULL, pid, pid)
            WHERE name = p_name AND swaps = 0 AND stands > v_stands ORDER BY stands LIMIT 1;
        IF @mortise_simple IS NULL OR @mortise_simple THEN
            COMMIT;
            SET v_other = IS_USED_LOCK(CONCAT('v:', HEX(v_id))),
                @mortise_awake = IF(RELEASE_LOCK(CONCAT('m:', HEX(v_id))), v_other, NULL);
            IF @mortise_told <> p_session THEN CALL mortise_tell(); END IF;
            SELECT '10', @mortise_simple IS NOT NULL, @mortise_mine;
            LEAVE leave_body;
        END IF;
        SET @mortise_told = NULL, @mortise_mine = x'', v_all = '10', i = 1;
    END IF;
    WHILE i < LENGTH(p_records) DIV 24 DO
        SET v_id = SUBSTRING(p_records, 1 + 24 * i, 16), v_seq = NULL, v_there = 0, v_took = 0, v_instead = NULL,
            v_mark = CAST(CAST(CONV(HEX(SUBSTRING(p_records, 17 + 24 * i, 8)), 16, 10) AS UNSIGNED) AS SIGNED);
        SELECT seq, place, expires, instead_of, stands, confirmed
            INTO v_seq, v_place, v_expires, v_instead, v_stands, v_confirmed FROM mortise_claims
            WHERE id = v_id AND name = p_name;
        IF v_seq IS NOT NULL THEN
            SET v_there = v_expires > v_now, v_took = v_place <> 0 AND v_instead IS NOT NULL;
            DELETE FROM mortise_claims WHERE seq = v_seq;
            IF v_confirmed = 0 AND IS_USED_LOCK(CONCAT('m:', HEX(v_id))) <=> CONNECTION_ID() THEN SET v_end = v_stands; END IF;
        ELSE
            SELECT released INTO v_there FROM mortise_gone WHERE id = v_id;
        END IF;
        IF v_mark > 0 OR (v_mark < 0 AND v_seq IS NOT NULL) THEN
            REPLACE INTO mortise_gone VALUES (v_id, v_now + ABS(v_mark), v_there);
        END IF;
        SET v_all = CONCAT(v_all, v_there, v_took), i = i + 1;
    END WHILE;
    CALL mortise_settle(p_name, p_session, NULL, v_now, v_floored, v_mine, v_used, v_room, v_swapping);
    IF v_floored AND v_room IS NULL AND v_swapping = 0 THEN DELETE FROM mortise_floors WHERE name = p_name; END IF;
    IF v_end IS NOT NULL THEN
        SELECT id, session, confirmed INTO v_before, v_other, v_confirmed FROM mortise_claims
            WHERE name = p_name AND swaps = 0 AND stands < v_end ORDER BY stands DESC LIMIT 1;
        IF v_other = p_session AND v_confirmed = 0 AND NOT (IS_USED_LOCK(CONCAT('m:', HEX(v_before))) <=> CONNECTION_ID()) THEN
            SET v_lock = GET_LOCK(CONCAT('m:', HEX(v_before)), 0);
        END IF;
    END IF;
    COMMIT;
    SET i = 0;
    WHILE i < LENGTH(p_records) DIV 24 DO
        SET v_id = SUBSTRING(p_records, 1 + 24 * i, 16), i = i + 1, v_other = IS_USED_LOCK(CONCAT('v:', HEX(v_id)));
        IF RELEASE_LOCK(CONCAT('m:', HEX(v_id))) THEN SET @mortise_awake = CONCAT_WS(',', @mortise_awake, v_other); END IF;
    END WHILE;
    TELL
    SELECT v_all, v_room IS NOT NULL, @mortise_mine;
END)sql",
    R"sql(CREATE PROCEDURE IF NOT EXISTS mortise_move(p_name VARBINARY(255), p_id VARBINARY(16), p_old VARBINARY(16),
    p_guards VARBINARY(60000), p_floor BIGINT, p_session BIGINT, p_lease BIGINT)
move_body: BEGIN
    DECLARE v_now, v_number, v_place, v_mine, v_used, v_room, v_swapping, v_floored, v_lock BIGINT;
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
    IF v_place IS NULL OR NOT EXISTS (SELECT 1 FROM mortise_claims WHERE id = p_id) THEN
        ROLLBACK;
        SELECT 0;
        LEAVE move_body;
    END IF;
    NEXT_NUMBER
    IF p_old <> p_id THEN DELETE FROM mortise_claims WHERE id = p_old; END IF;
    UPDATE mortise_claims SET seq = v_number, stands = v_place, place = v_place, swaps = 0, confirmed = 1,
        expires = v_now + p_lease, since = v_now WHERE id = p_id;
    REPLACE INTO mortise_floors VALUES (p_name, v_number);
    SET @mortise_wakes = 1;
    CALL mortise_settle(p_name, p_session, p_id, v_now, v_floored, v_mine, v_used, v_room, v_swapping);
    COMMIT;
    IF p_old <> p_id THEN SET v_lock = RELEASE_LOCK(CONCAT('m:', HEX(p_old))); END IF;
    TELL
    SELECT v_number;
END)sql",
};

}  // namespace

std::span<const std::string_view> row_tables() {
    return table_texts;
}

std::span<const std::string_view> line_routines() {
    return line_texts;
}

}  // namespace mortise::inline v0::stores::mysql
