-- Renews holds. It skips rows that are locked, so that one of them does not hold up the others. A hold whose lease is
-- over is gone, and nothing revives it. After a standby was promoted, that it is over may be a matter of two clocks, and
-- it stands while nobody else has had the lock. A hold has the same lease for all its life, so a copy that comes late
-- shortens nothing; an end that is further away is from before a step back of the clock.
--
-- $1: names, $2: ids, $3: leases in ms, $4: the timeline, as for acquire.sql
-- returns, for each in its order: it was renewed; it stands; the clock in microseconds; the timeline
WITH due AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[]) WITH ORDINALITY AS d (name, id, lease, nth)
), locked AS MATERIALIZED (
    SELECT name FROM {{table}} WHERE name = ANY ($1::text[]) ORDER BY name FOR NO KEY UPDATE SKIP LOCKED
), renewed AS (
    UPDATE {{table}} AS l
    SET until = clock_timestamp() + due.lease * interval '1 millisecond'
    FROM locked JOIN due USING (name)
    WHERE l.name = locked.name AND l.id = due.id AND (l.until > clock_timestamp()
        OR $4::text NOT IN ('', left(pg_walfile_name(pg_current_wal_lsn()), 8)))
    RETURNING due.nth
)
SELECT r.nth IS NOT NULL, coalesce(l.id = due.id AND (l.until > clock_timestamp()
        OR $4::text NOT IN ('', left(pg_walfile_name(pg_current_wal_lsn()), 8))), false),
    (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, left(pg_walfile_name(pg_current_wal_lsn()), 8)
FROM due LEFT JOIN renewed AS r USING (nth) LEFT JOIN {{table}} AS l USING (name) ORDER BY due.nth
