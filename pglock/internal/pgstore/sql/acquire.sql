-- Takes a free lock. It locks the row first, and compares afterwards: an UPDATE whose WHERE held before it waited for
-- the row would be carried out after the wait, however late, if the row has not changed. It does not wait for a row
-- that another transaction has locked: another client takes the lock, or a transaction of pglock.Tx is open.
--
-- A hold that was not released has ended when its time has come, if that was a time of this server's clock. Otherwise,
-- after a standby was promoted, the clock that wrote it may have been behind.
--
-- A lock without an id that is not free yet is reserved for clients that hear of no release (release.sql).
--
-- Most clients hear of releases, and most servers are what they were a lease ago: there the conditions of $5 and $6 are
-- left out, with them, since the server parses and plans each statement anew.
--
-- $1: name, $2: id, $3: lease in ms, $4: not after this time, in microseconds, $5: the timeline on which the ends of
-- leases are times of this clock ('': any), $6: this client hears of no release
-- returns: the token, and the one before it (0: the row is new); nothing if it was not taken
WITH free AS MATERIALIZED (
    SELECT fence FROM {{table}} AS l WHERE name = $1::text AND {{is free}}{{has ended}} FOR UPDATE SKIP LOCKED
)
UPDATE {{table}} AS l
SET id = $2::text, until = clock_timestamp() + $3::bigint * interval '1 millisecond',
    fence = greatest(l.fence + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
FROM free
WHERE l.name = $1::text AND {{is free}}
    AND clock_timestamp() <= to_timestamp($4::bigint / 1000000.0)
RETURNING l.fence, free.fence
