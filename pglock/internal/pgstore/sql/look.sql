-- Reads what stands, after an attempt in the same transaction. Under READ COMMITTED it sees what was committed
-- meanwhile.
--
-- $1: names
-- returns, for each name that has a row: the name; the id of the grant that has the lock or had it ('': none); the end
-- of its lease in microseconds; until when somebody listens for its release, in microseconds; the newest token; the clock
-- in microseconds; the timeline
SELECT name, coalesce(id, ''), (extract(epoch FROM until) * 1000000)::bigint,
    (extract(epoch FROM wanted) * 1000000)::bigint, fence,
    (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, left(pg_walfile_name(pg_current_wal_lsn()), 8)
FROM {{table}} WHERE name = ANY ($1::text[])
