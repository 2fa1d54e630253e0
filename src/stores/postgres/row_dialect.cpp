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
    confirmed bigint NOT NULL,  -- 0: it waits, and ends with its session; 1: it was granted, and ends when it expires;
                                -- 2: the same, but its client may not have heard of it;
                                -- 3: as 1, and its client keeps it while it is idle, until it is told that somebody asks
    expires bigint NOT NULL,    -- microseconds since 1970 by the server's clock
    since bigint NOT NULL,
    grace bigint NOT NULL,      -- how long it lasts if it is granted while it waits, until it is renewed
    trusted bigint NOT NULL,    -- how long of that its client believes in it: if it is gone by then, so is the claim
    host bytea NOT NULL,
    pid bigint NOT NULL,
    label bytea NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0);

CREATE INDEX IF NOT EXISTS row_claims_line ON @claims (name, swaps, stands);

CREATE TABLE IF NOT EXISTS @floors (name bytea PRIMARY KEY, floor bigint NOT NULL);

CREATE TABLE IF NOT EXISTS @gone (id bytea PRIMARY KEY, until bigint NOT NULL, released bigint NOT NULL);

CREATE OR REPLACE FUNCTION @now() RETURNS bigint LANGUAGE sql VOLATILE AS
$$ SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint $$;

-- l: it is lost; w: it should look; g: it was granted, and its number; k: somebody else asks for what its client may keep.
CREATE OR REPLACE FUNCTION @tell(p_session bigint, p_what text, p_id bytea, p_more text) RETURNS void LANGUAGE sql VOLATILE AS
$$ SELECT pg_notify('mortise_' || to_hex(p_session), p_what || encode(p_id, 'hex') || p_more) $$;

-- Of p_name: removes what has expired or died at the head of its line, grants whatever fits by then (with a new number, if an
-- exchange went before it: see base/line.hpp), and says how the line stands:
-- whether p_me may hold, which is left to the caller; the weight of all, if all hold; their capacity; whether somebody waits to
-- replace a hold; whether somebody was granted. p_wake: something has changed, so that those who have to look are told.
CREATE OR REPLACE FUNCTION @settle(p_name bytea, p_session bigint, p_me bytea, p_now bigint, p_wake boolean,
    OUT mine boolean, OUT used bigint, OUT room bigint, OUT swapping boolean, OUT granted boolean) LANGUAGE plpgsql AS $$
DECLARE
    e record;
    wake boolean := p_wake;
    again boolean;
    exchange bigint;
    bottom bigint;
    n bigint;
BEGIN
    mine := false;
    granted := false;
    LOOP
        again := false;
        used := 0;
        room := NULL;
        exchange := NULL;
        FOR e IN SELECT c.seq, c.id, c.session FROM @claims c WHERE c.name = p_name AND c.swaps = 1 LOOP
            IF e.session <> p_session AND pg_try_advisory_xact_lock(e.session) THEN
                DELETE FROM @claims c WHERE c.seq = e.seq;
                wake := true;
            ELSE
                exchange := least(exchange, e.seq);
                IF wake AND e.id IS DISTINCT FROM p_me THEN PERFORM @tell(e.session, 'w', e.id, ''); END IF;
            END IF;
        END LOOP;
        FOR e IN SELECT c.seq, c.id, c.session, c.capacity, c.weight, c.place, c.confirmed, c.expires, c.grace,
                     c.since + c.trusted AS doubtful
                 FROM @claims c WHERE c.name = p_name AND c.swaps = 0 ORDER BY c.stands LOOP
            IF e.confirmed > 0 THEN
                IF e.expires <= p_now OR (e.confirmed = 2 AND e.doubtful <= p_now AND e.session <> p_session
                    AND pg_try_advisory_xact_lock(e.session)) THEN
                    DELETE FROM @claims c WHERE c.seq = e.seq;
                    PERFORM @tell(e.session, 'l', e.id, '');
                    wake := true;
                    CONTINUE;
                END IF;
            ELSIF e.session <> p_session AND pg_try_advisory_xact_lock(e.session) THEN
                DELETE FROM @claims c WHERE c.name = p_name AND c.session = e.session AND c.confirmed = 0;
                wake := true;
                again := true;
                EXIT;
            END IF;
            room := coalesce(room, e.capacity);
            used := used + e.weight;
            IF used > room OR e.capacity <> room THEN
                used := NULL;
                EXIT;
            END IF;
            CONTINUE WHEN e.confirmed > 0;
            CONTINUE WHEN exchange < e.seq AND e.place = 0;
            IF bottom IS NULL THEN bottom := coalesce((SELECT f.floor FROM @floors f WHERE f.name = p_name), 0); END IF;
            IF bottom > e.seq THEN
                n := nextval('@seq');
                UPDATE @claims c SET seq = n, place = c.stands, confirmed = 2, expires = p_now + e.grace, since = p_now
                    WHERE c.seq = e.seq;
                UPDATE @floors f SET floor = n WHERE f.name = p_name;
                bottom := n;
            ELSIF e.id = p_me THEN
                mine := true;
                CONTINUE;
            ELSE
                n := e.seq;
                UPDATE @claims c SET confirmed = 2, expires = p_now + e.grace, since = p_now WHERE c.seq = n;
            END IF;
            granted := true;
            IF e.id IS DISTINCT FROM p_me THEN PERFORM @tell(e.session, 'g', e.id, n::text); END IF;
        END LOOP;
        EXIT WHEN NOT again;
    END LOOP;
    swapping := exchange IS NOT NULL;
END $$;

CREATE OR REPLACE FUNCTION @look(p_name bytea, p_id bytea, p_session bigint, p_lease bigint, p_most bigint)
RETURNS TABLE (seq bigint, stands bigint, place bigint, id bytea, capacity bigint, weight bigint, instead_of bytea,
    confirmed bigint, left_us bigint, held_us bigint, host bytea, pid bigint, label bytea) LANGUAGE plpgsql AS $$
DECLARE
    locked text;
    now bigint;
    s record;
    m record;
    n bigint := 9223372036854775807;
BEGIN
    locked := pg_advisory_xact_lock(1836020340, hashtext(encode(p_name, 'hex')));
    now := @now();
    s := @settle(p_name, p_session, p_id, now, false);
    SELECT c.seq, c.stands, c.swaps, c.confirmed INTO m FROM @claims c WHERE c.id = p_id;
    IF FOUND AND m.swaps = 0 THEN
        n := m.stands;
        IF s.mine OR m.confirmed = 2 THEN
            UPDATE @claims c SET confirmed = 1, expires = now + p_lease, since = now WHERE c.seq = m.seq;
        END IF;
    END IF;
    LINE
END $$;

-- A claim that waits, or was not let in, need not be on disk before its client is told: after a crash of the server nobody waits.
-- First it tries what is usual: nobody is there, or one holds a lock for one.
CREATE OR REPLACE FUNCTION @enter(p_name bytea, p_id bytea, p_session bigint, p_capacity bigint, p_weight bigint,
    p_instead bytea, p_only bigint, p_lease bigint, p_grace bigint, p_trusted bigint, p_host bytea, p_pid bigint, p_label bytea,
    p_most bigint)
RETURNS TABLE (seq bigint, stands bigint, place bigint, id bytea, capacity bigint, weight bigint, instead_of bytea,
    confirmed bigint, left_us bigint, held_us bigint, host bytea, pid bigint, label bytea) LANGUAGE plpgsql AS $$
DECLARE
    locked text;
    now bigint;
    s record;
    m record;
    n bigint := 9223372036854775807;
    keeper record;
    fits boolean;
    granted bigint := CASE WHEN p_only & 2 = 2 THEN 3 ELSE 1 END;
BEGIN
    IF current_setting('mortise.session', true) IS DISTINCT FROM p_session::text THEN
        RAISE EXCEPTION 'another session answers: a pooler in transaction mode is in between' USING ERRCODE = 'MO001';
    END IF;
    locked := pg_advisory_xact_lock(1836020340, hashtext(encode(p_name, 'hex')));
    now := @now();
    SELECT h.id, h.session, h.confirmed, h.capacity, h.expires > now AS lives,
        EXISTS (SELECT 1 FROM @gone g WHERE g.id = p_id) AS gone,
        EXISTS (SELECT 1 FROM @claims c WHERE c.id = p_id) AS known,
        EXISTS (SELECT 1 FROM @claims c WHERE c.name = p_name AND c.swaps = 1) AS odd
        INTO m FROM (SELECT 1) one LEFT JOIN LATERAL (SELECT c.id, c.session, c.confirmed, c.capacity, c.expires
            FROM @claims c WHERE c.name = p_name AND c.swaps = 0 ORDER BY c.stands LIMIT 1) h ON true;
    IF m.gone THEN
        LINE
        RETURN;
    END IF;
    IF NOT m.known AND NOT m.odd AND p_instead IS NULL
        AND (m.confirmed IS NULL OR (m.confirmed IN (1, 3) AND m.capacity = 1 AND m.lives)) THEN
        fits := m.confirmed IS NULL AND p_weight <= p_capacity;
        IF NOT fits THEN locked := set_config('synchronous_commit', 'off', true); END IF;
        IF m.confirmed = 3 THEN PERFORM @tell(m.session, 'k', m.id, ''); END IF;
    ELSE
        SELECT c.seq, c.expires > now AS lives INTO m FROM @claims c WHERE c.id = p_id;
        IF m.lives THEN
            RETURN QUERY SELECT * FROM @look(p_name, p_id, p_session, p_lease, p_most);
            RETURN;
        END IF;
        IF NOT m.lives THEN DELETE FROM @claims c WHERE c.seq = m.seq; END IF;
        s := @settle(p_name, p_session, p_id, now, false);
        fits := coalesce(p_instead IS NULL AND NOT s.swapping AND s.used + p_weight <= p_capacity
            AND coalesce(s.room, p_capacity) = p_capacity, false);
        IF NOT fits AND NOT s.granted THEN locked := set_config('synchronous_commit', 'off', true); END IF;
        FOR keeper IN SELECT c.session, c.id, c.confirmed FROM @claims c WHERE NOT fits
            AND (p_instead IS NULL OR p_weight = p_capacity) AND c.name = p_name AND c.swaps = 0 ORDER BY c.stands LOOP
            EXIT WHEN keeper.confirmed = 0;
            IF keeper.confirmed = 3 THEN PERFORM @tell(keeper.session, 'k', keeper.id, ''); END IF;
        END LOOP;
    END IF;
    IF fits OR p_only & 1 = 0 THEN
        seq := nextval('@seq');
        INSERT INTO @claims VALUES (seq, seq, 0, (p_instead IS NOT NULL)::int, p_name, p_id, p_session, p_capacity, p_weight,
            p_instead, CASE WHEN fits THEN granted ELSE 0 END, CASE WHEN fits THEN now + p_lease ELSE n END, now, p_grace, p_trusted, p_host, p_pid, p_label);
    END IF;
    IF NOT fits THEN
        LINE
        RETURN;
    END IF;
    stands := seq; place := 0; id := p_id; capacity := p_capacity; weight := p_weight; confirmed := granted;
    left_us := p_lease; held_us := 0; host := p_host; pid := p_pid; label := p_label;
    RETURN NEXT;
END $$;

-- The same for a client that keeps it while it is idle. A routine of its own: where it is missing, the schema is made anew.
CREATE OR REPLACE FUNCTION @enter_keeping(p_name bytea, p_id bytea, p_session bigint, p_capacity bigint, p_weight bigint,
    p_instead bytea, p_only bigint, p_lease bigint, p_grace bigint, p_trusted bigint, p_host bytea, p_pid bigint, p_label bytea,
    p_most bigint)
RETURNS TABLE (seq bigint, stands bigint, place bigint, id bytea, capacity bigint, weight bigint, instead_of bytea,
    confirmed bigint, left_us bigint, held_us bigint, host bytea, pid bigint, label bytea) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY SELECT * FROM @enter(p_name, p_id, p_session, p_capacity, p_weight, p_instead, p_only | 2, p_lease, p_grace,
        p_trusted, p_host, p_pid, p_label, p_most);
END $$;

-- 1, its token and when it was granted, if it is there; for a claim that is known to hold.
CREATE OR REPLACE FUNCTION @confirm(p_id bytea, p_lease bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    n bigint;
    now bigint := @now();
BEGIN
    UPDATE @claims c SET confirmed = CASE c.confirmed WHEN 3 THEN 3 ELSE 1 END, expires = now + p_lease, since = now
        WHERE c.id = p_id AND c.expires > now RETURNING c.seq INTO n;
    RETURN coalesce(n, 0);
END $$;

-- Each record is an id and how long to mark it, see sql/row_dialect.hpp. If nobody is granted by it, it need not be on disk before
-- the client is told: after a crash of the server the claim would be there until it expires. First it tries what is usual: a lock
-- for one is released, and nobody is there, or whoever is next wants the same.
CREATE OR REPLACE FUNCTION @leave(p_name bytea, p_records bytea, p_session bigint)
RETURNS TABLE (told text, others bigint, mine bytea) LANGUAGE plpgsql AS $$
DECLARE
    locked text;
    was_there bigint;
    now bigint;
    s record;
    m record;
    e record;
    one bytea;
    mark bigint;
    changed boolean := false;
    first int := 0;
BEGIN
    locked := pg_advisory_xact_lock(1836020340, hashtext(encode(p_name, 'hex')));
    now := @now();
    told := '';
    IF length(p_records) = 24 AND substring(p_records FROM 17) = '\x0000000000000000' THEN
        DELETE FROM @claims c WHERE c.id = substring(p_records FROM 1 FOR 16) AND c.name = p_name AND c.confirmed > 0
            AND c.capacity = 1 AND c.expires > now AND c.instead_of IS NULL RETURNING c.seq INTO m;
        IF m.seq IS NOT NULL THEN
            SELECT h.seq, h.id, h.session, h.capacity, h.confirmed, h.place,
                EXISTS (SELECT 1 FROM @floors f WHERE f.name = p_name)
                OR EXISTS (SELECT 1 FROM @claims c WHERE c.name = p_name AND c.swaps = 1) AS odd
                INTO e FROM (SELECT 1) one LEFT JOIN LATERAL (SELECT c.seq, c.id, c.session, c.capacity, c.confirmed, c.place
                    FROM @claims c WHERE c.name = p_name AND c.swaps = 0 ORDER BY c.stands LIMIT 1) h ON true;
            told := '10';
            others := (e.seq IS NOT NULL)::int;
            IF NOT e.odd AND e.seq IS NULL THEN
                locked := set_config('synchronous_commit', 'off', true);
                RETURN NEXT;
                RETURN;
            ELSIF NOT e.odd AND e.confirmed = 0 AND e.capacity = 1 AND e.place = 0
                AND (e.session = p_session OR NOT pg_try_advisory_xact_lock(e.session)) THEN
                UPDATE @claims c SET confirmed = 2, expires = now + c.grace, since = now WHERE c.seq = e.seq;
                IF e.session = p_session THEN
                    mine := e.id || int8send(e.seq);
                ELSE
                    locked := pg_notify('mortise_' || to_hex(e.session), 'g' || encode(e.id, 'hex') || e.seq::text);
                END IF;
                RETURN NEXT;
                RETURN;
            END IF;
            changed := true;
            first := 1;
        END IF;
    END IF;
    FOR i IN first .. length(p_records) / 24 - 1 LOOP
        one := substring(p_records FROM 1 + 24 * i FOR 16);
        mark := ('x' || encode(substring(p_records FROM 17 + 24 * i FOR 8), 'hex'))::bit(64)::bigint;
        DELETE FROM @claims c WHERE c.id = one AND c.name = p_name
            RETURNING c.expires > now AS alive, c.place <> 0 AND c.instead_of IS NOT NULL AS took INTO m;
        was_there := m.alive::int;
        changed := changed OR m.alive IS NOT NULL;
        IF was_there IS NULL THEN SELECT g.released INTO was_there FROM @gone g WHERE g.id = one; END IF;
        was_there := coalesce(was_there, 0);
        IF mark > 0 OR (mark < 0 AND m.alive IS NOT NULL) THEN
            INSERT INTO @gone AS g VALUES (one, now + abs(mark), was_there)
                ON CONFLICT ON CONSTRAINT row_gone_pkey DO UPDATE SET until = excluded.until;
        END IF;
        told := told || was_there::text || coalesce(m.took, false)::int::text;
    END LOOP;
    s := @settle(p_name, p_session, NULL, now, changed);
    IF NOT s.granted THEN locked := set_config('synchronous_commit', 'off', true); END IF;
    IF s.room IS NULL AND NOT s.swapping THEN DELETE FROM @floors f WHERE f.name = p_name; END IF;
    others := (s.room IS NOT NULL)::int;
    RETURN NEXT;
END $$;

-- Writes a claim anew, with a larger token, where p_old stands (itself, or the hold that it replaces). 0: the line has changed.
CREATE OR REPLACE FUNCTION @move(p_name bytea, p_id bytea, p_old bytea, p_guards bytea, p_floor bigint, p_session bigint,
    p_lease bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    locked text;
    now bigint;
    n bigint;
    at_place bigint;
BEGIN
    locked := pg_advisory_xact_lock(1836020340, hashtext(encode(p_name, 'hex')));
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
    UPDATE @claims c SET confirmed = CASE c.confirmed WHEN 3 THEN 3 ELSE 1 END, expires = greatest(c.expires, now + due.lease)
        FROM due WHERE c.id = due.id AND c.confirmed > 0 AND c.expires > now RETURNING c.id;
END $$;

-- Of each name for which a session waits, the first of its claims: which of them should look, because they are granted or gone, or
-- because whoever is before them has expired or died. The session ends when it is silent for so long, as long as it waits.
CREATE OR REPLACE FUNCTION @beat(p_session bigint, p_firsts bytea, p_silence bigint) RETURNS SETOF bytea LANGUAGE plpgsql AS $$
DECLARE
    now bigint := @now();
    m record;
    e record;
    due boolean;
    held boolean;
BEGIN
    IF p_firsts = '' THEN p_silence := 0; END IF;
    IF current_setting('mortise.silence', true) IS DISTINCT FROM p_silence::text THEN
        PERFORM set_config('idle_session_timeout', (p_silence / 1000)::text, false);
        PERFORM set_config('mortise.silence', p_silence::text, false);
    END IF;
    FOR i IN 0 .. length(p_firsts) / 16 - 1 LOOP
        SELECT c.id, c.name, c.swaps, c.confirmed INTO m FROM @claims c WHERE c.id = substring(p_firsts FROM 1 + 16 * i FOR 16);
        due := NOT FOUND OR m.confirmed > 0 OR m.swaps = 1;
        IF NOT due THEN
            held := false;
            FOR e IN SELECT c.id, c.session, c.confirmed, c.expires FROM @claims c
                     WHERE c.name = m.name AND c.swaps = 0 ORDER BY c.stands LOOP
                due := CASE WHEN e.confirmed IN (1, 3) THEN e.expires <= now
                    WHEN e.confirmed = 2 THEN e.expires <= now
                        OR (e.session <> p_session AND pg_try_advisory_xact_lock(e.session))
                    ELSE NOT held OR (e.session <> p_session AND pg_try_advisory_xact_lock(e.session)) END;
                EXIT WHEN due OR e.confirmed = 0;
                held := true;
            END LOOP;
        END IF;
        IF due THEN RETURN NEXT substring(p_firsts FROM 1 + 16 * i FOR 16); END IF;
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION @break(p_name bytea, p_counter bigint, p_session bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    locked text;
    now bigint;
    m record;
BEGIN
    locked := pg_advisory_xact_lock(1836020340, hashtext(encode(p_name, 'hex')));
    now := @now();
    DELETE FROM @claims c WHERE c.seq = p_counter AND c.name = p_name AND c.confirmed > 0 RETURNING c.id, c.session INTO m;
    IF NOT FOUND THEN RETURN 0; END IF;
    PERFORM @tell(m.session, 'l', m.id, '');
    PERFORM @settle(p_name, p_session, NULL, now, true);
    RETURN 1;
END $$;

-- Names of which something has expired or died. Small.
CREATE OR REPLACE FUNCTION @overdue(p_session bigint) RETURNS SETOF bytea LANGUAGE plpgsql AS $$
DECLARE
    dead bigint[];
BEGIN
    dead := ARRAY(SELECT d.session FROM (SELECT DISTINCT c.session FROM @claims c WHERE c.confirmed IN (0, 2)) d
        WHERE d.session <> p_session AND pg_try_advisory_xact_lock(d.session));
    RETURN QUERY SELECT DISTINCT c.name FROM @claims c
        WHERE c.expires <= @now() OR (c.confirmed IN (0, 2) AND c.session = ANY (dead)) LIMIT 16;
END $$;

-- Sweeps a line that nobody looks at.
CREATE OR REPLACE FUNCTION @sweep(p_name bytea, p_session bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    locked text;
    s record;
    dead bigint[];
    swept bigint;
BEGIN
    locked := pg_advisory_xact_lock(1836020340, hashtext(encode(p_name, 'hex')));
    dead := ARRAY(SELECT d.session FROM (SELECT DISTINCT c.session FROM @claims c WHERE c.name = p_name AND c.confirmed = 0) d
        WHERE d.session <> p_session AND pg_try_advisory_xact_lock(d.session));
    DELETE FROM @claims c WHERE c.name = p_name AND c.confirmed = 0 AND c.session = ANY (dead);
    GET DIAGNOSTICS swept = ROW_COUNT;
    s := @settle(p_name, p_session, NULL, @now(), swept > 0);
    IF s.room IS NULL AND NOT s.swapping THEN DELETE FROM @floors f WHERE f.name = p_name; END IF;
    RETURN 1;
END $$;

END $mortise$)sql";

// Of a line: a row with its floor; those who wait to replace a hold; the first, which may come twice; the last up to the place n.
// Written out where it is needed, since the server plans a function in SQL anew for each call.
constexpr std::string_view line =
    R"sql(RETURN QUERY SELECT coalesce((SELECT f.floor FROM @floors f WHERE f.name = p_name), 0), 0::bigint, 0::bigint, NULL::bytea,
            0::bigint, 0::bigint, NULL::bytea, 0::bigint, 0::bigint, 0::bigint, NULL::bytea, 0::bigint, NULL::bytea
        UNION ALL (SELECT c.seq, c.stands, c.place, c.id, c.capacity, c.weight, c.instead_of, c.confirmed, LEFT_US,
            now - c.since, c.host, c.pid, c.label FROM @claims c WHERE c.name = p_name AND c.swaps = 1)
        UNION ALL (SELECT c.seq, c.stands, c.place, c.id, c.capacity, c.weight, c.instead_of, c.confirmed, LEFT_US,
            now - c.since, c.host, c.pid, c.label FROM @claims c WHERE c.name = p_name AND c.swaps = 0
            ORDER BY c.stands LIMIT 1)
        UNION ALL (SELECT c.seq, c.stands, c.place, c.id, c.capacity, c.weight, c.instead_of, c.confirmed, LEFT_US,
            now - c.since, c.host, c.pid, c.label FROM @claims c WHERE c.name = p_name AND c.swaps = 0 AND c.stands <= n
            ORDER BY c.stands DESC LIMIT p_most);)sql";

// Of a grant whose client is gone and has not confirmed it: what is left of the time in which it may have trusted it.
constexpr std::string_view left_us =
    "CASE WHEN c.confirmed = 2 AND c.session <> p_session AND pg_try_advisory_xact_lock(c.session) "
    "THEN least(c.expires, c.since + c.trusted) ELSE c.expires END - now";

std::string with_lines(std::string_view text) {
    std::string made{text};
    const auto replace = [&](std::string_view what, std::string_view by) {
        for (auto at = made.find(what); at != made.npos; at = made.find(what, at + by.size()))
            made.replace(at, what.size(), by);
    };
    replace("LINE", line);
    replace("LEFT_US", left_us);
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
    constexpr std::string_view of_enter =
        "($1::bytea, $2::bytea, $3::bigint, $4::bigint, $5::bigint, $6::bytea, $7::bigint, $8::bigint, $9::bigint, "
        "$10::bigint, $11::bytea, $12::bigint, $13::bytea, $14::bigint)";
    is.enter = made("SELECT * FROM @enter" + std::string(of_enter));
    is.enter_keeping = made("SELECT * FROM @enter_keeping" + std::string(of_enter));
    is.look = made("SELECT * FROM @look($1::bytea, $2::bytea, $3::bigint, $4::bigint, $5::bigint)");
    is.confirm = made("SELECT @confirm($1::bytea, $2::bigint)");
    is.leave = made("SELECT * FROM @leave($1::bytea, $2::bytea, $3::bigint)");
    is.move = made("SELECT @move($1::bytea, $2::bytea, $3::bytea, $4::bytea, $5::bigint, $6::bigint, $7::bigint)");
    is.renew = made("SELECT * FROM @renew($1::bytea)");
    is.beat = made("SELECT * FROM @beat($1::bigint, $2::bytea, $3::bigint)");
    is.list = made(
        "SELECT c.name, c.seq, c.capacity, c.weight, c.host, c.pid, c.label, c.expires - @now(), @now() - c.since, "
        "(SELECT count(*) FROM @claims w WHERE w.name = c.name AND w.confirmed = 0) "
        "FROM @claims c WHERE c.confirmed > 0 AND c.expires > @now() ORDER BY c.name, c.stands");
    is.break_hold = made("SELECT @break($1::bytea, $2::bigint, $3::bigint)");
    is.overdue = made("SELECT * FROM @overdue($1::bigint)");
    is.sweep = made("SELECT @sweep($1::bytea, $2::bigint)");
    is.sweep_marks = made(
        "WITH old AS (SELECT g.id FROM @gone g WHERE g.until <= @now() LIMIT 100 FOR UPDATE SKIP LOCKED) "
        "DELETE FROM @gone g USING old WHERE g.id = old.id");
    return is;
}

}  // namespace mortise::inline v0::stores::postgres
