#include "stores/mysql/row_dialect.hpp"

#include "stores/mysql/row_routines.hpp"

#include <string>
#include <string_view>

namespace mortise::inline v0::stores::mysql {
namespace {

// What stands for what in the texts: see row_routines.hpp.
constexpr std::string_view now_us = "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED)";
constexpr std::string_view lock_name =
    "SET @mortise_told = NULL, @mortise_mine = NULL, @mortise_awake = NULL, @mortise_wakes = NULL; START TRANSACTION; "
    "SELECT stripe, floored "
    "INTO @mortise_stripe, v_floored "
    "FROM mortise_stripes WHERE stripe = CRC32(p_name) % 1024 FOR UPDATE;";
constexpr std::string_view tell = "IF @mortise_told IS NOT NULL THEN CALL mortise_tell(); END IF;";
constexpr std::string_view granted =
    "IF v_session = p_session AND @mortise_mine IS NOT NULL THEN SET @mortise_mine = CONCAT(@mortise_mine, v_id, "
    "BYTES($)); "
    "ELSE SET @mortise_told = CONCAT_WS(',', @mortise_told, v_session); END IF;";
constexpr std::string_view bytes = "UNHEX(LPAD(HEX($), 16, '0'))";
constexpr std::string_view next_number =
    "UPDATE mortise_stripes SET number = LAST_INSERT_ID(number + 1) WHERE stripe = @mortise_stripe; "
    "SET v_number = LAST_INSERT_ID() * 1024 + @mortise_stripe;";
// Of a grant whose client is gone and has not confirmed it: what is left of the time in which it may have trusted it.
constexpr std::string_view left_us =
    "IF(confirmed = 2 AND DEAD(session), LEAST(expires, since + trusted), expires) - v_now";
constexpr std::string_view line =
    R"sql(IF v_floored THEN
        (SELECT COALESCE((SELECT floor FROM mortise_floors WHERE name = p_name), 0) AS seq, 0 AS stands, 0 AS place, NULL AS id,
            0 AS capacity, 0 AS weight, NULL AS instead_of, 0 AS confirmed, 0 AS left_us, 0 AS held_us, NULL AS host, 0 AS pid,
            NULL AS label)
        UNION ALL (SELECT COLUMNS FROM mortise_claims WHERE name = p_name AND swaps = 1)
        UNION ALL (SELECT COLUMNS FROM mortise_claims WHERE name = p_name AND swaps = 0 ORDER BY stands LIMIT 1)
        UNION ALL (SELECT COLUMNS FROM mortise_claims WHERE name = p_name AND swaps = 0 AND stands <= v_until ORDER BY stands DESC LIMIT p_most);
    ELSE
        (SELECT COLUMNS FROM mortise_claims WHERE name = p_name AND swaps = 0 ORDER BY stands LIMIT 1)
        UNION ALL (SELECT COLUMNS FROM mortise_claims WHERE name = p_name AND swaps = 0 AND stands <= v_until ORDER BY stands DESC LIMIT p_most);
    END IF;)sql";
// One's own grant by somebody else is no grant before it is heard of: mortise_enter reads its line after the commit.
constexpr std::string_view line_columns =
    "seq, stands, place, id, capacity, weight, instead_of, "
    "IF(confirmed = 2 AND id = p_id, 0, confirmed), LEFT_US, v_now - since, host, pid, label";

std::string filled_in(std::string_view text) {
    std::string made{text};
    const auto replace = [&](std::string_view what, std::string_view by) {
        for (auto at = made.find(what); at != made.npos; at = made.find(what, at + by.size()))
            made.replace(at, what.size(), by);
    };
    replace("LINE(v_until)", line);
    replace("COLUMNS", line_columns);
    replace("LEFT_US", left_us);
    // With an argument, which `by` has as $.
    const auto replace_call = [&](const std::string& what, std::string_view by) {
        for (auto at = made.find(what + "("); at != made.npos; at = made.find(what + "(", at)) {
            const auto from = at + what.size() + 1;
            const auto end = made.find(')', from);
            const std::string argument = made.substr(from, end - from);
            std::string meaning{by};
            meaning.replace(meaning.find('$'), 1, argument);
            made.replace(at, end + 1 - at, meaning);
        }
    };
    replace_call("GRANTED", granted);
    replace_call("BYTES", bytes);
    replace_call("DEAD", "IS_USED_LOCK(CONCAT('mortise.', HEX($))) IS NULL");
    replace("NOW_US", now_us);
    replace("LOCK_NAME", lock_name);
    replace("NEXT_NUMBER", next_number);
    replace("TELL", tell);
    return made;
}

}  // namespace

sql::row_dialect row_dialect() {
    sql::row_dialect is;
    for (const auto& texts : {row_tables(), line_routines(), session_routines()})
        for (const std::string_view one : texts) is.schema.push_back({.text = filled_in(one), .direct = true});
    const auto made = [](std::string_view text) { return sql::statement{.text = filled_in(text)}; };
    is.greeting = {
        made("SET @mortise_session = ?, SESSION time_zone = '+00:00', SESSION innodb_lock_wait_timeout = 2"),
        {.text = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", .direct = true},
        {.text = "SELECT GET_LOCK(CONCAT('mortise.', HEX(@mortise_session)), 1), "
                 "GET_LOCK(CONCAT('mortise.s.', @mortise_session), 1)",
         .direct = true},
    };
    is.enter = made("CALL mortise_enter(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    is.look = made("CALL mortise_look(?, ?, ?, ?, ?)");
    is.confirm = made("CALL mortise_confirm(?, ?)");
    is.leave = made("CALL mortise_leave(?, ?, ?)");
    is.move = made("CALL mortise_move(?, ?, ?, ?, ?, ?, ?)");
    is.renew = made("CALL mortise_renew(?)");
    is.beat = made("CALL mortise_beat(?, ?, ?)");
    is.list = made(
        "SELECT c.name, c.seq, c.capacity, c.weight, c.host, c.pid, c.label, c.expires - NOW_US, NOW_US - c.since, "
        "(SELECT COUNT(*) FROM mortise_claims w WHERE w.name = c.name AND w.confirmed = 0) "
        "FROM mortise_claims c WHERE c.confirmed > 0 AND c.expires > NOW_US ORDER BY c.name, c.stands");
    is.break_hold = made("CALL mortise_break(?, ?, ?)");
    is.overdue = made(
        "SELECT DISTINCT name FROM mortise_claims WHERE expires <= NOW_US OR (confirmed <> 1 AND session <> ? AND "
        "DEAD(session)) "
        "LIMIT 16");
    is.sweep = made("CALL mortise_sweep(?, ?)");
    is.sweep_marks = made("DELETE FROM mortise_gone WHERE until <= NOW_US LIMIT 100");
    return is;
}

sql::statement await_grants() {
    return {.text = "CALL mortise_await(?, ?, ?, ?)", .tells = true};
}

}  // namespace mortise::inline v0::stores::mysql
