-- Wakes those who wait for locks, in a transaction of its own after that of the release: to commit a message takes a
-- lock of the whole database, and holds it until the disk has what was written; here nothing is waited for. Nothing is
-- sent for a lock that nobody listens for.
--
-- $1: channel, $2: names, $3: the client that sends this
-- returns: the clock in microseconds, and the timeline
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, left(pg_walfile_name(pg_current_wal_lsn()), 8),
    set_config('synchronous_commit', 'off', true), (
        SELECT count(pg_notify($1::text, '=' || $3::text || ' ' || name)) FROM {{table}}
        WHERE name = ANY ($2::text[]) AND wanted > clock_timestamp()
    )
