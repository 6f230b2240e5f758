-- Reads what stands, after an attempt in the same transaction. Under READ COMMITTED it sees what was committed
-- meanwhile. Times that somebody wrote into the table may be infinite. They are sent as floating-point numbers, which can
-- say that, and have all microseconds until the year 2106.
--
-- $1: names
-- returns, for each name that has a row: the name; the id of the grant that has the lock or had it ('': none); the end
-- of its lease in seconds; until when somebody listens for its release, in seconds; the newest token; the clock in
-- seconds; the timeline
SELECT name, coalesce(id, ''), date_part('epoch', until), date_part('epoch', wanted), fence,
    date_part('epoch', clock_timestamp()), left(pg_walfile_name(pg_current_wal_lsn()), 8)
FROM {{table}} WHERE name = ANY ($1::text[])
