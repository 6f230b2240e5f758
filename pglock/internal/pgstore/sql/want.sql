-- Notes that this client waits for the release of locks that others have, whether it hears of that or polls. It waits
-- for a release that is under way, and then finds the row free and writes nothing; the client asks again. It asks again
-- soon if somebody has the lock once more when it looks, and nothing is noted. To find that a lock is held, and to note,
-- are one step, so that no release comes between them unheard. A note that will last for half of the time is not
-- written again. A request that notes something has taken nothing, so its commit need not wait for the disk.
--
-- $1: names, $2: id of the request, $3: for how many ms
WITH busy AS MATERIALIZED (
    SELECT name FROM {{table}}
    WHERE name = ANY ($1::text[]) AND until > clock_timestamp() AND id IS DISTINCT FROM $2::text
        AND wanted < clock_timestamp() + $3::bigint * interval '0.5 millisecond'
    ORDER BY name FOR NO KEY UPDATE
)
UPDATE {{table}} AS l SET wanted = clock_timestamp() + $3::bigint * interval '1 millisecond'
FROM busy WHERE l.name = busy.name AND l.until > clock_timestamp()
RETURNING set_config('synchronous_commit', 'off', true)
