-- Takes several free locks, or none. It locks the rows in the order of their names, and compares them afterwards.
--
-- $1: names, $2: id, $3: leases in ms, $4: not after this time, in microseconds, $5: the timeline, and $6, as for acquire.sql
-- returns: one row if they were taken
WITH want AS (
    SELECT * FROM unnest($1::text[], $3::bigint[]) AS w (name, lease)
), free AS MATERIALIZED (
    SELECT l.name, l.until, l.id FROM {{table}} AS l
    WHERE l.name = ANY ($1::text[]) AND (l.until <= clock_timestamp() OR l.id IS NULL AND $6::bool)
        AND (id IS NULL OR $5::text IN ('', left(pg_walfile_name(pg_current_wal_lsn()), 8)))
    ORDER BY l.name FOR UPDATE SKIP LOCKED
), taken AS (
    UPDATE {{table}} AS l
    SET id = $2::text, until = clock_timestamp() + want.lease * interval '1 millisecond',
        fence = greatest(l.fence + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
    FROM want
    WHERE l.name = want.name
        AND (SELECT count(*) = cardinality($1::text[]) AND bool_and(until <= clock_timestamp() OR id IS NULL) FROM free)
        AND (extract(epoch FROM clock_timestamp()) * 1000000)::bigint <= $4::bigint
    RETURNING 1
)
SELECT count(*) FROM taken
