#include "stores/postgres/row_dialect.hpp"

#include "stores/postgres/pq_driver.hpp"

#include <string_view>

namespace mortise::inline v0::stores::postgres {
namespace {

// @ is the prefix of all names. In one block, so that it is there as a whole or not at all.
constexpr std::string_view schema = R"sql(DO $mortise$ BEGIN
PERFORM pg_advisory_xact_lock(1836020340, 0);

CREATE SEQUENCE IF NOT EXISTS @seq;

CREATE TABLE IF NOT EXISTS @claims (
    seq bigint PRIMARY KEY,     -- in order of arrival; also the token
    stands bigint NOT NULL,     -- where it stands in its line: seq, or the place of the hold that it replaced
    place bigint NOT NULL,      -- that place, or 0
    swaps bigint NOT NULL,      -- 1: it waits to replace a hold
    name bytea NOT NULL,
    id bytea NOT NULL UNIQUE,
    session bigint NOT NULL,
    capacity bigint NOT NULL,
    weight bigint NOT NULL,
    instead_of bytea,
    confirmed bigint NOT NULL,  -- 1: it was granted, and ends when it expires; 0: it ends with its session, too
    expires bigint NOT NULL,    -- microseconds since 1970 by the server's clock
    since bigint NOT NULL,
    host bytea NOT NULL,
    pid bigint NOT NULL,
    label bytea NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);

CREATE INDEX IF NOT EXISTS row_claims_line ON @claims (name, swaps, stands);

CREATE INDEX IF NOT EXISTS row_claims_session ON @claims (session);

CREATE TABLE IF NOT EXISTS @floors (name bytea PRIMARY KEY, floor bigint NOT NULL);

CREATE TABLE IF NOT EXISTS @gone (id bytea PRIMARY KEY, until bigint NOT NULL, released bigint NOT NULL);

CREATE OR REPLACE FUNCTION @now() RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint $$;

CREATE OR REPLACE FUNCTION @tell(p_session bigint, p_what text, p_id bytea) RETURNS void LANGUAGE sql VOLATILE AS
$$ SELECT pg_notify('mortise_' || to_hex(p_session), p_what || encode(p_id, 'hex')) $$;

-- Removes what has expired or died at the head of a line, wakes those who may hold by now, and says how the line stands: whether
-- p_me may hold; the weight of all, if all hold; their capacity; whether somebody waits to replace a hold.
CREATE OR REPLACE FUNCTION @settle(p_name bytea, p_session bigint, p_me bytea, p_now bigint, p_wake boolean,
    OUT mine boolean, OUT used bigint, OUT room bigint, OUT swapping boolean) LANGUAGE plpgsql AS $$
DECLARE
    e record;
    wake boolean := p_wake;
BEGIN
    mine := false;
    used := 0;
    swapping := false;
    FOR e IN SELECT c.seq, c.id, c.session, c.expires FROM @claims c WHERE c.name = p_name AND c.swaps = 1 LOOP
        IF e.expires <= p_now OR (e.session <> p_session AND pg_try_advisory_xact_lock(e.session)) THEN
            DELETE FROM @claims c WHERE c.seq = e.seq;
            wake := true;
        ELSE
            swapping := true;
            IF wake AND e.id IS DISTINCT FROM p_me THEN PERFORM @tell(e.session, 'w', e.id); END IF;
        END IF;
    END LOOP;
    FOR e IN SELECT c.seq, c.id, c.session, c.capacity, c.weight, c.place, c.confirmed, c.expires
             FROM @claims c WHERE c.name = p_name AND c.swaps = 0 ORDER BY c.stands LOOP
        IF e.expires <= p_now OR (e.confirmed = 0 AND e.session <> p_session
                AND (room IS NULL OR used + e.weight <= room OR e.capacity <> room)
                AND pg_try_advisory_xact_lock(e.session)) THEN
            DELETE FROM @claims c WHERE c.seq = e.seq;
            IF e.confirmed = 1 THEN PERFORM @tell(e.session, 'l', e.id); END IF;
            wake := true;
            CONTINUE;
        END IF;
        room := coalesce(room, e.capacity);
        used := used + e.weight;
        IF used > room OR e.capacity <> room THEN
            used := NULL;
            EXIT;
        END IF;
        IF e.confirmed = 0 THEN
            IF e.id = p_me THEN
                mine := NOT swapping OR e.place <> 0;
            ELSIF wake THEN
                PERFORM @tell(e.session, 'w', e.id);
            END IF;
        END IF;
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION @enter(p_name bytea, p_id bytea, p_session bigint, p_capacity bigint, p_weight bigint,
    p_instead bytea, p_only bigint, p_lease bigint, p_wait bigint, p_host bytea, p_pid bigint, p_label bytea, p_most bigint)
RETURNS TABLE (seq bigint, stands bigint, place bigint, id bytea, capacity bigint, weight bigint, instead_of bytea,
    confirmed bigint, left_us bigint, held_us bigint, host bytea, pid bigint, label bytea) LANGUAGE plpgsql AS $$
DECLARE
    now bigint;
    s record;
    m record;
    n bigint;
    fits boolean;
BEGIN
    IF current_setting('mortise.session', true) IS DISTINCT FROM p_session::text THEN
        RAISE EXCEPTION 'another session answers: a pooler in transaction mode is in between' USING ERRCODE = 'MO001';
    END IF;
    PERFORM pg_advisory_xact_lock(1836020340, hashtext(encode(p_name, 'hex')));
    now := @now();
    IF EXISTS (SELECT 1 FROM @gone g WHERE g.id = p_id) THEN
        n := 9223372036854775807;
        LINE
        RETURN;
    END IF;
    SELECT c.seq, c.stands, c.swaps, c.expires > now AS lives INTO m FROM @claims c WHERE c.id = p_id;
    IF NOT m.lives THEN DELETE FROM @claims c WHERE c.seq = m.seq; END IF;
    IF m.lives THEN
        n := CASE WHEN m.swaps = 1 THEN 9223372036854775807 ELSE m.stands END;
        LINE
        RETURN;
    END IF;
    s := @settle(p_name, p_session, p_id, now, false);
    fits := p_instead IS NULL AND NOT s.swapping AND s.used + p_weight <= p_capacity AND coalesce(s.room, p_capacity) = p_capacity;
    fits := coalesce(fits, false);
    IF fits OR p_only = 0 THEN
        n := nextval('@seq');
        INSERT INTO @claims VALUES (n, n, 0, (p_instead IS NOT NULL)::int, p_name, p_id, p_session, p_capacity, p_weight,
            p_instead, fits::int, now + CASE WHEN fits THEN p_lease ELSE p_wait END, now, p_host, p_pid, p_label);
    END IF;
    IF p_instead IS NOT NULL OR NOT fits THEN n := 9223372036854775807; END IF;
    LINE
END $$;

CREATE OR REPLACE FUNCTION @look(p_name bytea, p_id bytea, p_session bigint, p_lease bigint, p_most bigint)
RETURNS TABLE (seq bigint, stands bigint, place bigint, id bytea, capacity bigint, weight bigint, instead_of bytea,
    confirmed bigint, left_us bigint, held_us bigint, host bytea, pid bigint, label bytea) LANGUAGE plpgsql AS $$
DECLARE
    now bigint;
    s record;
    m record;
    n bigint := 9223372036854775807;
BEGIN
    PERFORM pg_advisory_xact_lock(1836020340, hashtext(encode(p_name, 'hex')));
    now := @now();
    s := @settle(p_name, p_session, p_id, now, false);
    SELECT c.seq, c.stands, c.swaps INTO m FROM @claims c WHERE c.id = p_id;
    IF FOUND AND m.swaps = 0 THEN
        n := m.stands;
        IF s.mine AND NOT EXISTS (SELECT 1 FROM @floors f WHERE f.name = p_name AND f.floor > m.seq) THEN
            UPDATE @claims c SET confirmed = 1, expires = now + p_lease, since = now WHERE c.seq = m.seq;
            IF s.used IS NULL OR s.used < s.room THEN PERFORM @settle(p_name, p_session, p_id, now, true); END IF;
        END IF;
    END IF;
    LINE
END $$;

-- 1, its token and when it was granted, if it is there; for a claim that is known to hold.
CREATE OR REPLACE FUNCTION @confirm(p_id bytea, p_lease bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    n bigint;
    now bigint := @now();
BEGIN
    UPDATE @claims c SET confirmed = 1, expires = greatest(c.expires, now + p_lease), since = now
        WHERE c.id = p_id AND c.expires > now RETURNING c.seq INTO n;
    RETURN coalesce(n, 0);
END $$;

CREATE OR REPLACE FUNCTION @leave(p_name bytea, p_id bytea, p_session bigint, p_mark bigint,
    OUT was_there bigint, OUT took_place bigint, OUT others bigint) LANGUAGE plpgsql AS $$
DECLARE
    now bigint;
    s record;
    m record;
BEGIN
    PERFORM pg_advisory_xact_lock(1836020340, hashtext(encode(p_name, 'hex')));
    now := @now();
    DELETE FROM @claims c WHERE c.id = p_id AND c.name = p_name
        RETURNING c.expires > now AS alive, c.place <> 0 AND c.instead_of IS NOT NULL AS took INTO m;
    was_there := m.alive::int;
    took_place := coalesce(m.took, false)::int;
    IF was_there IS NULL THEN SELECT g.released INTO was_there FROM @gone g WHERE g.id = p_id; END IF;
    was_there := coalesce(was_there, 0);
    IF p_mark > 0 OR (p_mark < 0 AND m.alive IS NOT NULL) THEN
        INSERT INTO @gone VALUES (p_id, now + abs(p_mark), was_there) ON CONFLICT (id) DO UPDATE SET until = excluded.until;
    END IF;
    s := @settle(p_name, p_session, NULL, now, m.alive IS NOT NULL);
    others := (s.room IS NOT NULL)::int;
    IF s.room IS NULL AND NOT s.swapping THEN DELETE FROM @floors f WHERE f.name = p_name; END IF;
END $$;

-- Writes a claim anew, with a larger token, where p_old stands (itself, or the hold that it replaces). 0: the line has changed.
CREATE OR REPLACE FUNCTION @move(p_name bytea, p_id bytea, p_old bytea, p_guards bytea, p_floor bigint, p_session bigint,
    p_lease bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    now bigint;
    n bigint;
    at_place bigint;
BEGIN
    PERFORM pg_advisory_xact_lock(1836020340, hashtext(encode(p_name, 'hex')));
    now := @now();
    IF coalesce((SELECT f.floor FROM @floors f WHERE f.name = p_name), 0) <> p_floor THEN RETURN 0; END IF;
    IF (SELECT count(*) FROM generate_series(0, length(p_guards) / 16 - 1) i
            JOIN @claims c ON c.id = substring(p_guards FROM 1 + 16 * i FOR 16) AND c.expires > now)
        <> length(p_guards) / 16 THEN RETURN 0; END IF;
    SELECT c.stands INTO at_place FROM @claims c WHERE c.id = p_old;
    IF NOT FOUND THEN RETURN 0; END IF;
    n := nextval('@seq');
    IF p_old <> p_id THEN DELETE FROM @claims c WHERE c.id = p_old; END IF;
    UPDATE @claims c SET seq = n, stands = at_place, place = at_place, swaps = 0, confirmed = 1, expires = now + p_lease,
        since = now WHERE c.id = p_id;
    IF NOT FOUND THEN RAISE EXCEPTION 'the claim is gone' USING ERRCODE = '40001'; END IF;
    INSERT INTO @floors VALUES (p_name, n) ON CONFLICT (name) DO UPDATE SET floor = excluded.floor;
    PERFORM @settle(p_name, p_session, p_id, now, true);
    RETURN n;
END $$;

-- Each record is an id and its lease.
CREATE OR REPLACE FUNCTION @renew(p_records bytea) RETURNS SETOF bytea LANGUAGE plpgsql AS $$
DECLARE
    now bigint := @now();
BEGIN
    RETURN QUERY WITH due AS (
        SELECT substring(p_records FROM 1 + 24 * i FOR 16) AS id,
            ('x' || encode(substring(p_records FROM 17 + 24 * i FOR 8), 'hex'))::bit(64)::bigint AS lease
        FROM generate_series(0, length(p_records) / 24 - 1) i)
    UPDATE @claims c SET expires = greatest(c.expires, now + due.lease)
        FROM due WHERE c.id = due.id AND c.confirmed = 1 AND c.expires > now RETURNING c.id;
END $$;

-- Keeps the claims of a session that wait, and tells which of them should look: they are next, or who is has gone.
CREATE OR REPLACE FUNCTION @beat(p_session bigint, p_wait bigint) RETURNS SETOF bytea LANGUAGE plpgsql AS $$
DECLARE
    now bigint := @now();
    m record;
    f record;
BEGIN
    UPDATE @claims c SET expires = now + p_wait WHERE c.session = p_session AND c.confirmed = 0;
    FOR m IN SELECT DISTINCT ON (c.name, c.swaps) c.name, c.id, c.swaps FROM @claims c
             WHERE c.session = p_session AND c.confirmed = 0 ORDER BY c.name, c.swaps, c.stands LOOP
        IF m.swaps = 1 THEN
            RETURN NEXT m.id;
            CONTINUE;
        END IF;
        SELECT c.id, c.session, c.expires INTO f FROM @claims c
            WHERE c.name = m.name AND c.swaps = 0 AND c.confirmed = 0 ORDER BY c.stands LIMIT 1;
        IF f.id = m.id OR f.expires <= now OR (f.session <> p_session AND pg_try_advisory_xact_lock(f.session))
            OR EXISTS (SELECT 1 FROM @claims c WHERE c.name = m.name AND c.expires <= now) THEN
            RETURN NEXT m.id;
        END IF;
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION @break(p_name bytea, p_counter bigint, p_session bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    now bigint;
    m record;
BEGIN
    PERFORM pg_advisory_xact_lock(1836020340, hashtext(encode(p_name, 'hex')));
    now := @now();
    DELETE FROM @claims c WHERE c.seq = p_counter AND c.name = p_name AND c.confirmed = 1 RETURNING c.id, c.session INTO m;
    IF NOT FOUND THEN RETURN 0; END IF;
    PERFORM @tell(m.session, 'l', m.id);
    PERFORM @settle(p_name, p_session, NULL, now, true);
    RETURN 1;
END $$;

-- Sweeps a line that nobody looks at.
CREATE OR REPLACE FUNCTION @sweep(p_name bytea, p_session bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    s record;
BEGIN
    PERFORM pg_advisory_xact_lock(1836020340, hashtext(encode(p_name, 'hex')));
    DELETE FROM @claims c WHERE c.name = p_name AND c.confirmed = 0 AND c.expires <= @now();
    s := @settle(p_name, p_session, NULL, @now(), false);
    IF s.room IS NULL AND NOT s.swapping THEN DELETE FROM @floors f WHERE f.name = p_name; END IF;
    RETURN 1;
END $$;

CREATE OR REPLACE FUNCTION @part(p_session bigint) RETURNS SETOF bytea LANGUAGE sql VOLATILE AS
$$ DELETE FROM @claims c WHERE c.session = p_session AND c.confirmed = 0 RETURNING c.name $$;

END $mortise$)sql";

// Of a line: a row with its floor; those who wait to replace a hold; the first, which may come twice; the last up to the place n.
// Written out where it is needed, since the server plans a function in SQL anew for each call.
constexpr std::string_view line =
    R"sql(RETURN QUERY SELECT coalesce((SELECT f.floor FROM @floors f WHERE f.name = p_name), 0), 0::bigint, 0::bigint, NULL::bytea,
            0::bigint, 0::bigint, NULL::bytea, 0::bigint, 0::bigint, 0::bigint, NULL::bytea, 0::bigint, NULL::bytea
        UNION ALL (SELECT c.seq, c.stands, c.place, c.id, c.capacity, c.weight, c.instead_of, c.confirmed, c.expires - now,
            now - c.since, c.host, c.pid, c.label FROM @claims c WHERE c.name = p_name AND c.swaps = 1)
        UNION ALL (SELECT c.seq, c.stands, c.place, c.id, c.capacity, c.weight, c.instead_of, c.confirmed, c.expires - now,
            now - c.since, c.host, c.pid, c.label FROM @claims c WHERE c.name = p_name AND c.swaps = 0
            ORDER BY c.stands LIMIT 1)
        UNION ALL (SELECT c.seq, c.stands, c.place, c.id, c.capacity, c.weight, c.instead_of, c.confirmed, c.expires - now,
            now - c.since, c.host, c.pid, c.label FROM @claims c WHERE c.name = p_name AND c.swaps = 0 AND c.stands <= n
            ORDER BY c.stands DESC LIMIT p_most);)sql";

std::string with_lines(std::string_view text) {
    std::string made{text};
    constexpr std::string_view what = "LINE";
    for (auto at = made.find(what); at != made.npos; at = made.find(what, at + line.size()))
        made.replace(at, what.size(), line);
    return made;
}

std::string with_prefix(std::string_view text, std::string_view prefix) {
    std::string made;
    for (const char c : text) c == '@' ? made.append(prefix) : made.append(1, c);
    return made;
}

}  // namespace

sql::row_dialect row_dialect_in(const std::string& schema_name) {
    const std::string quoted = quoted_identifier(schema_name);
    const auto made = [prefix = quoted + ".row_"](std::string_view text) {
        return sql::statement{.text = with_prefix(text, prefix)};
    };
    sql::row_dialect is;
    is.schema = {{.text = "CREATE SCHEMA IF NOT EXISTS " + quoted, .direct = true}, made(with_lines(schema))};
    is.schema.back().direct = true;
    // No plan that was made while the table was empty may read all of it later.
    is.greeting = {
        {.text = "SELECT set_config('mortise.session', ($1::bigint)::text, false), set_config('lock_timeout', '1s', "
                 "false), "
                 "set_config('default_transaction_isolation', 'read committed', false), "
                 "set_config('enable_seqscan', 'off', false), set_config('jit', 'off', false)"},
        {.text = "SELECT pg_advisory_lock_shared($1::bigint)"},
    };
    is.listen = "LISTEN mortise_";
    is.enter = made(
        "SELECT * FROM @enter($1::bytea, $2::bytea, $3::bigint, $4::bigint, $5::bigint, $6::bytea, $7::bigint, "
        "$8::bigint, "
        "$9::bigint, $10::bytea, $11::bigint, $12::bytea, $13::bigint)");
    is.look = made("SELECT * FROM @look($1::bytea, $2::bytea, $3::bigint, $4::bigint, $5::bigint)");
    is.confirm = made("SELECT @confirm($1::bytea, $2::bigint)");
    is.leave = made("SELECT * FROM @leave($1::bytea, $2::bytea, $3::bigint, $4::bigint)");
    is.move = made("SELECT @move($1::bytea, $2::bytea, $3::bytea, $4::bytea, $5::bigint, $6::bigint, $7::bigint)");
    is.renew = made("SELECT * FROM @renew($1::bytea)");
    is.beat = made("SELECT * FROM @beat($1::bigint, $2::bigint)");
    is.list = made(
        "SELECT c.name, c.seq, c.capacity, c.weight, c.host, c.pid, c.label, c.expires - @now(), @now() - c.since, "
        "(SELECT count(*) FROM @claims w WHERE w.name = c.name AND w.confirmed = 0) "
        "FROM @claims c WHERE c.confirmed = 1 AND c.expires > @now() ORDER BY c.name, c.stands");
    is.break_hold = made("SELECT @break($1::bytea, $2::bigint, $3::bigint)");
    is.overdue = made("SELECT DISTINCT c.name FROM @claims c WHERE c.expires <= @now() LIMIT 16");
    is.sweep = made("SELECT @sweep($1::bytea, $2::bigint)");
    is.sweep_marks = made(
        "WITH old AS (SELECT g.id FROM @gone g WHERE g.until <= @now() LIMIT 100 FOR UPDATE SKIP LOCKED) "
        "DELETE FROM @gone g USING old WHERE g.id = old.id");
    return is;
}

}  // namespace mortise::inline v0::stores::postgres
