-- Notes that this client hears of no release, has been passed over, and asks again within a time: the next release until
-- then leaves the lock to clients that hear of none, for the rest of that time. A note that will last for half of the
-- time is not written again. Nobody relies on it, so its commit need not wait for the disk.
--
-- $1: names, $2: id of the request, $3: for how many ms
WITH busy AS MATERIALIZED (
    SELECT name FROM {{table}}
    WHERE name = ANY ($1::text[]) AND until > clock_timestamp() AND id IS DISTINCT FROM $2::text
        AND polled < clock_timestamp() + $3::bigint * interval '0.5 millisecond'
    ORDER BY name FOR NO KEY UPDATE
)
UPDATE {{table}} AS l SET polled = clock_timestamp() + $3::bigint * interval '1 millisecond'
FROM busy WHERE l.name = busy.name AND l.until > clock_timestamp() AND l.id IS NOT NULL
RETURNING set_config('synchronous_commit', 'off', true)
