-- What stands, after an attempt in the same transaction. Under READ COMMITTED it sees what was committed meanwhile.
-- If nothing of the attempt is to be relied on, the commit need not wait for the disk. If an earlier copy of it took
-- what it asks for, the commit must wait once more: that of the copy may stand here alone, if its connection ended
-- while it waited for a synchronous standby. A transaction that has written nothing waits for nobody, so it locks the
-- row, which is written.
--
-- $1: names, $2: id of the one that asks
-- returns, for each name that has a row: the name; it has that id; it is free; the rest of the lease in ms; the newest
-- token; the clock in microseconds; the timeline
WITH copied AS MATERIALIZED (
    SELECT name FROM {{table}}
    WHERE name = ANY ($1::text[]) AND id = $2::text AND pg_current_xact_id_if_assigned() IS NULL
    ORDER BY name FOR KEY SHARE
)
SELECT l.name, id IS NOT DISTINCT FROM $2::text AND until > clock_timestamp(), until <= clock_timestamp(),
    ceil(extract(epoch FROM until - clock_timestamp()) * 1000)::bigint, fence,
    (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, left(pg_walfile_name(pg_current_wal_lsn()), 8),
    CASE WHEN id IS DISTINCT FROM $2::text THEN set_config('synchronous_commit', 'off', true) END
FROM {{table}} AS l LEFT JOIN copied USING (name) WHERE l.name = ANY ($1::text[])
