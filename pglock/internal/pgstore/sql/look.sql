-- What stands, after an attempt in the same transaction. Under READ COMMITTED it sees what was committed meanwhile.
-- If nothing of the attempt is to be relied on, the commit need not wait for the disk.
--
-- $1: names, $2: id of the one that asks
-- returns, for each name that has a row: the name; it has that id; it is free; the rest of the lease in ms; the newest
-- token; the clock in microseconds; the timeline
SELECT name, id IS NOT DISTINCT FROM $2::text AND until > clock_timestamp(), until <= clock_timestamp(),
    ceil(extract(epoch FROM until - clock_timestamp()) * 1000)::bigint, fence,
    (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, left(pg_walfile_name(pg_current_wal_lsn()), 8),
    CASE WHEN id IS DISTINCT FROM $2::text THEN set_config('synchronous_commit', 'off', true) END
FROM {{table}} WHERE name = ANY ($1::text[])
