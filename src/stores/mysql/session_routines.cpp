#include "stores/mysql/row_routines.hpp"

#include <mortise/config.hpp>

namespace mortise::inline v0::stores::mysql {
namespace {

constexpr std::string_view session_texts[] = {
    // Wakes the sessions in @mortise_told, but for connections in @mortise_awake. One that belongs to another user cannot be, and finds out by itself.
    R"sql(CREATE PROCEDURE IF NOT EXISTS mortise_tell()
BEGIN
    DECLARE v_line BIGINT;
    DECLARE CONTINUE HANDLER FOR 1094, 1095 SET v_line = NULL;
    WHILE @mortise_told IS NOT NULL DO
        SET v_line = IS_USED_LOCK(CONCAT('mortise.w.', SUBSTRING_INDEX(@mortise_told, ',', 1))),
            @mortise_told = IF(LOCATE(',', @mortise_told), SUBSTRING(@mortise_told, LOCATE(',', @mortise_told) + 1), NULL);
        IF v_line IS NOT NULL AND NOT FIND_IN_SET(v_line, COALESCE(@mortise_awake, '')) THEN KILL QUERY v_line; END IF;
    END WHILE;
    SET @mortise_awake = NULL;
END)sql",
    // Tells which of these claims were granted, ids and numbers of 16 and 8 bytes; 0 for those that have to look. Sleeps until the first
    // of p_others has left, tells it again, and goes on with the next. The claim that stands behind one of p_others has the same
    // place in p_ids: if that was granted a lock for one, nothing else was, and a comma follows; else a full stop. Having told the
    // last one it ends, so that it is asked for those that have come meanwhile; but sleeps if there was nothing to tell.
    R"sql(CREATE PROCEDURE IF NOT EXISTS mortise_await(p_session BIGINT, p_ids LONGBLOB, p_others LONGBLOB, p_seconds BIGINT)
BEGIN
    DECLARE v_number, v_lock, v_capacity BIGINT;
    DECLARE v_id, v_other VARBINARY(16);
    DECLARE v_all LONGBLOB;
    DECLARE v_left INT DEFAULT 0;
    DECLARE v_over BIGINT DEFAULT 1;
    DECLARE i INT;
    SET v_lock = RELEASE_ALL_LOCKS(), v_lock = GET_LOCK(CONCAT('mortise.w.', p_session), 0);
    await_loop: LOOP
        SET v_all = '', v_capacity = 0;
        IF v_left > 0 THEN
            SET v_id = SUBSTRING(p_ids, 16 * v_left - 15, 16);
            SELECT CONCAT(v_id, BYTES(seq)), capacity INTO v_all, v_capacity FROM mortise_claims WHERE id = v_id AND confirmed > 0;
        END IF;
        IF v_capacity <> 1 THEN
            SET v_all = '', i = 0;
            WHILE i < LENGTH(p_ids) DIV 16 DO
                SET v_id = SUBSTRING(p_ids, 1 + 16 * i, 16), v_number = NULL, i = i + 1;
                SELECT IF(confirmed > 0, seq, 0) INTO v_number FROM mortise_claims WHERE id = v_id AND (confirmed > 0 OR swaps = 1);
                IF v_number IS NOT NULL THEN SET v_all = CONCAT(v_all, v_id, BYTES(v_number)); END IF;
            END WHILE;
        END IF;
        IF v_left > 0 THEN
            SELECT CONCAT(v_all, IF(v_capacity = 1, ',', '.'));
        ELSEIF v_all <> '' THEN
            SELECT v_all;
        END IF;
        IF v_left >= LENGTH(p_others) DIV 16 THEN LEAVE await_loop; END IF;
        SET v_other = SUBSTRING(p_others, 1 + 16 * v_left, 16), v_left = v_left + 1,
            v_lock = GET_LOCK(CONCAT('v:', HEX(v_other)), 0), v_over = GET_LOCK(CONCAT('m:', HEX(v_other)), p_seconds);
        IF NOT v_over THEN LEAVE await_loop; END IF;
        DO RELEASE_LOCK(CONCAT('m:', HEX(v_other))), RELEASE_LOCK(CONCAT('v:', HEX(v_other)));
    END LOOP;
    IF v_over AND v_capacity <> 1 AND GET_LOCK(CONCAT('mortise.s.', p_session), p_seconds) THEN
        DO SLEEP(0.05);
    END IF;
    SET v_lock = RELEASE_ALL_LOCKS();
END)sql",
    R"sql(CREATE PROCEDURE IF NOT EXISTS mortise_renew(p_records LONGBLOB)
BEGIN
    DECLARE v_now, v_seq, v_expires, v_until BIGINT;
    DECLARE v_all LONGBLOB DEFAULT '';
    DECLARE v_id VARBINARY(16);
    DECLARE i INT DEFAULT 0;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    START TRANSACTION;
    SET v_now = NOW_US;
    WHILE i < LENGTH(p_records) DIV 24 DO
        SET v_id = SUBSTRING(p_records, 1 + 24 * i, 16), v_seq = NULL,
            v_until = v_now + CAST(CONV(HEX(SUBSTRING(p_records, 17 + 24 * i, 8)), 16, 10) AS SIGNED), i = i + 1;
        SELECT seq, expires INTO v_seq, v_expires FROM mortise_claims
            WHERE id = v_id AND confirmed > 0 AND expires > v_now FOR UPDATE;
        IF v_seq IS NOT NULL THEN
            UPDATE mortise_claims SET confirmed = 1, expires = GREATEST(v_expires, v_until) WHERE seq = v_seq;
            SET v_all = CONCAT(v_all, v_id);
        END IF;
    END WHILE;
    COMMIT;
    SELECT v_all;
END)sql",
    // See sql/row_dialect.hpp.
    R"sql(CREATE PROCEDURE IF NOT EXISTS mortise_beat(p_session BIGINT, p_firsts LONGBLOB, p_silence BIGINT)
BEGIN
    DECLARE v_now, v_seq, v_swaps, v_confirmed, v_stands, v_session, v_expires, v_due, v_lock, v_last BIGINT;
    DECLARE v_silence BIGINT DEFAULT IF(LENGTH(p_firsts) = 0, 28800, p_silence DIV 1000000);
    DECLARE v_name VARBINARY(255);
    DECLARE v_id VARBINARY(16);
    DECLARE v_all LONGBLOB DEFAULT '';
    DECLARE i INT DEFAULT 0;
    IF NOT (IS_USED_LOCK(CONCAT('mortise.', HEX(p_session))) <=> CONNECTION_ID()) THEN
        SET v_lock = GET_LOCK(CONCAT('mortise.', HEX(p_session)), 0);
    END IF;
    IF NOT (IS_USED_LOCK(CONCAT('mortise.s.', p_session)) <=> CONNECTION_ID()) THEN
        SET v_lock = GET_LOCK(CONCAT('mortise.s.', p_session), 0);
    END IF;
    IF @@SESSION.wait_timeout <> v_silence THEN SET SESSION wait_timeout = v_silence; END IF;
    SET v_now = NOW_US;
    WHILE i < LENGTH(p_firsts) DIV 16 DO
        SET v_id = SUBSTRING(p_firsts, 1 + 16 * i, 16), v_seq = NULL, i = i + 1;
        SELECT seq, name, swaps, confirmed INTO v_seq, v_name, v_swaps, v_confirmed FROM mortise_claims WHERE id = v_id;
        SET v_due = v_seq IS NULL OR v_confirmed > 0 OR v_swaps = 1;
        IF NOT v_due THEN
            SELECT session, stands INTO v_session, v_stands FROM mortise_claims
                WHERE name = v_name AND swaps = 0 AND confirmed = 0 ORDER BY stands LIMIT 1;
            SELECT MIN(expires), MAX(confirmed) INTO v_expires, v_last FROM mortise_claims
                WHERE name = v_name AND swaps = 0 AND stands < v_stands;
            SET v_due = v_expires IS NULL OR v_expires <= v_now OR (v_session <> p_session AND DEAD(v_session))
                OR (v_last = 2 AND EXISTS (SELECT 1 FROM mortise_claims WHERE name = v_name AND swaps = 0 AND stands < v_stands
                    AND confirmed = 2 AND session <> p_session AND DEAD(session)));
        END IF;
        IF v_due THEN SET v_all = CONCAT(v_all, v_id); END IF;
    END WHILE;
    SELECT v_all;
END)sql",
    R"sql(CREATE PROCEDURE IF NOT EXISTS mortise_break(p_name VARBINARY(255), p_counter BIGINT, p_session BIGINT)
BEGIN
    DECLARE v_count, v_floored, v_mine, v_used, v_room, v_swapping BIGINT;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    LOCK_NAME
    SELECT COUNT(*) INTO v_count FROM mortise_claims WHERE seq = p_counter AND name = p_name AND confirmed > 0;
    DELETE FROM mortise_claims WHERE seq = p_counter AND name = p_name AND confirmed > 0;
    SET @mortise_wakes = 1;
    CALL mortise_settle(p_name, p_session, NULL, NOW_US, v_floored, v_mine, v_used, v_room, v_swapping);
    COMMIT;
    TELL
    SELECT v_count;
END)sql",
    R"sql(CREATE PROCEDURE IF NOT EXISTS mortise_sweep(p_name VARBINARY(255), p_session BIGINT)
BEGIN
    DECLARE v_mine, v_used, v_room, v_swapping, v_floored BIGINT;
    DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN ROLLBACK; RESIGNAL; END;
    LOCK_NAME
    DELETE FROM mortise_claims WHERE name = p_name AND confirmed = 0 AND session <> p_session AND DEAD(session);
    SET @mortise_wakes = ROW_COUNT() > 0;
    CALL mortise_settle(p_name, p_session, NULL, NOW_US, v_floored, v_mine, v_used, v_room, v_swapping);
    IF v_room IS NULL AND v_swapping = 0 THEN DELETE FROM mortise_floors WHERE name = p_name; END IF;
    COMMIT;
    TELL
    SELECT 1;
END)sql",
};

}  // namespace

std::span<const std::string_view> session_routines() {
    return session_texts;
}

}  // namespace mortise::inline v0::stores::mysql
