-- Gives a hold another id, and a new lease. It waits for a transaction of pglock.Tx under the old id, which has locked
-- the row FOR KEY SHARE.
--
-- $1: name, $2: id, $3: lease in ms, $4: not after this time, in microseconds, $5: the id so far
-- returns: the token, and 0; nothing if the hold is gone
WITH held AS MATERIALIZED (
    SELECT name FROM {{table}} WHERE name = $1::text AND id = $5::text AND until > clock_timestamp() FOR UPDATE
)
UPDATE {{table}} AS l
SET id = $2::text, until = clock_timestamp() + $3::bigint * interval '1 millisecond'
FROM held
WHERE l.name = held.name AND l.id = $5::text AND l.until > clock_timestamp()
    AND (extract(epoch FROM clock_timestamp()) * 1000000)::bigint <= $4::bigint
RETURNING l.fence, 0::bigint
