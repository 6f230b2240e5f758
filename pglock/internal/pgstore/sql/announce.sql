-- Tells other clients that this one waits for locks that others have. They know by the releases which clients take
-- turns with them; a client that comes anew has released nothing yet. It is a transaction of its own behind that which
-- asks, which must not fail with it: to commit a message takes a lock of the whole database. It waits for that only a
-- moment, and for no disk.
--
-- $1: channel, $2: id of the request, $3: names
SELECT count(pg_notify($1::text, '+' || $2::text || ' ' || name)), {{hurry}},
    set_config('synchronous_commit', 'off', true)
FROM {{table}}
WHERE name = ANY ($3::text[]) AND until > clock_timestamp() AND id IS DISTINCT FROM $2::text
