-- Does for several locks what release.sql does for one, or retains them under ids that are nobody's. Where one request releases many and no caller waits for it, it
-- skips a row that is locked, and gives no answer for it. How long the commit waits to send messages is set last: rows
-- may take longer.
--
-- A clock that was set back since the end was named would come to it by that step later: so there is a bound from now on.
--
-- $1: names, $2: ids, $3: until when each is retained, in microseconds (0: not), $4: as which id, $5: channel,
-- $6: for how long each at most, in microseconds
-- returns, for each name in its order: it was released; the row could be looked at; a client listens; the clock in
-- microseconds; the timeline
WITH parting AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[], $6::bigint[]) WITH ORDINALITY
        AS p (name, id, retain, as_id, most, nth)
), locked AS MATERIALIZED (
    SELECT name, id FROM {{table}} WHERE name = ANY ($1::text[]) ORDER BY name FOR NO KEY UPDATE {{skip}}
), released AS (
    UPDATE {{table}} AS l
    SET id = CASE WHEN to_timestamp(p.retain / 1000000.0) > clock_timestamp() THEN p.as_id END,
        until = CASE WHEN to_timestamp(p.retain / 1000000.0) > clock_timestamp()
            THEN least(to_timestamp(p.retain / 1000000.0), clock_timestamp() + p.most * interval '1 microsecond')
            ELSE {{until}} END{{reserved}}
    FROM locked JOIN parting AS p USING (name)
    WHERE l.name = locked.name AND locked.id = p.id
    RETURNING p.nth,
        CASE WHEN l.wanted > clock_timestamp() THEN {{tell}} IS NOT NULL ELSE false END AS heard
)
SELECT r.nth IS NOT NULL,
    EXISTS (SELECT FROM locked WHERE locked.name = p.name)
        OR NOT EXISTS (SELECT FROM {{table}} AS l WHERE l.name = p.name),
    coalesce(r.heard AND {{hurry}} IS NOT NULL, false), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    left(pg_walfile_name(pg_current_wal_lsn()), 8)
FROM parting AS p LEFT JOIN released AS r USING (nth) ORDER BY p.nth
