-- Takes a free lock. It locks the row first, and compares afterwards: an UPDATE whose WHERE held before it waited for
-- the row would be carried out after the wait, however late, if the row has not changed. It does not wait for a row
-- that another transaction has locked: another client takes the lock, or a transaction of pglock.Tx is open.
--
-- A hold that was not released has ended when its time has come, if that was a time of this server's clock. Otherwise,
-- after a standby was promoted, the clock that wrote it may have been behind.
--
-- A lock without an id that is not free yet is reserved for clients that hear of no release (release.sql).
--
-- $1: name, $2: id, $3: lease in ms, $4: not after this time, in microseconds, $5: the timeline on which the ends of
-- leases are times of this clock ('': any), $6: this client hears of no release
-- returns: the token, and how many numbers below it were never used; nothing if it was not taken. For a new row that is
-- none: free rows may be deleted, and with them what is known of earlier tokens
WITH free AS MATERIALIZED (
    SELECT fence FROM {{table}} WHERE name = $1::text AND (until <= clock_timestamp() OR id IS NULL AND $6::bool)
        AND (id IS NULL OR $5::text IN ('', left(pg_walfile_name(pg_current_wal_lsn()), 8)))
    FOR UPDATE SKIP LOCKED
)
UPDATE {{table}} AS l
SET id = $2::text, until = clock_timestamp() + $3::bigint * interval '1 millisecond',
    fence = greatest(l.fence + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
FROM free
WHERE l.name = $1::text AND (l.until <= clock_timestamp() OR l.id IS NULL AND $6::bool)
    AND (extract(epoch FROM clock_timestamp()) * 1000000)::bigint <= $4::bigint
RETURNING l.fence, CASE WHEN free.fence = 0 THEN 0 ELSE least(l.fence - free.fence - 1, 1023) END
