-- Reads what stands, after an attempt in the same transaction. Under READ COMMITTED it sees what was committed
-- meanwhile. Times that somebody wrote into the table may be infinite.
--
-- $1: names
-- returns, for each name that has a row: the name; the id of the grant that has the lock or had it ('': none); the end
-- of its lease in microseconds; until when somebody listens for its release, in microseconds; the newest token; the clock
-- in microseconds; the timeline
SELECT name, coalesce(id, ''),
    (extract(epoch FROM least(greatest(until, 'epoch'), clock_timestamp() + interval '100 years')) * 1000000)::bigint,
    (extract(epoch FROM least(greatest(wanted, 'epoch'), clock_timestamp() + interval '100 years')) * 1000000)::bigint,
    fence,
    (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, left(pg_walfile_name(pg_current_wal_lsn()), 8)
FROM {{table}} WHERE name = ANY ($1::text[])
