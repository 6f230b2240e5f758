-- Takes a free lock. The row is locked first, and only then compared: an UPDATE whose WHERE held before it waited for
-- the row would be carried out after the wait, however late, if the row has not changed. A row that somebody else has
-- locked is not waited for: its lock is being taken, or a transaction of pglock.Tx is open.
--
-- $1: name, $2: id, $3: lease in ms, $4: not after this time, in microseconds
-- returns: the token, and how many numbers below it nobody had; nothing if it was not taken. Of a row that is new
-- nobody knows what was given before: free rows may be deleted, so that is none.
WITH free AS MATERIALIZED (
    SELECT fence FROM {{table}} WHERE name = $1::text AND until <= clock_timestamp() FOR UPDATE SKIP LOCKED
)
UPDATE {{table}} AS l
SET id = $2::text, until = clock_timestamp() + $3::bigint * interval '1 millisecond',
    fence = greatest(l.fence + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
FROM free
WHERE l.name = $1::text AND l.until <= clock_timestamp()
    AND (extract(epoch FROM clock_timestamp()) * 1000000)::bigint <= $4::bigint
RETURNING l.fence, CASE WHEN free.fence = 0 THEN 0 ELSE least(l.fence - free.fence - 1, 1023) END
