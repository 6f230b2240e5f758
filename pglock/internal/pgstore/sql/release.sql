-- Frees a lock that has this id, and wakes its waiters; release_all.sql retains one. It locks the row whatever its id: an
-- acquisition that is under way has not shown its id yet, and the release of that id comes after it.
--
-- The message is part of the transaction, so it comes if the release stands, whatever becomes of this client. To commit
-- a message takes a lock of the whole database until the commit is over, so the commit of a release waits for no disk,
-- and for that lock only a moment. Nothing is sent if no client listens for the release. The message has the id, which
-- says who had the lock. If it cannot be sent, the client releases again by this statement without it.
--
-- Where a client that hears of no release has noted that it wants the lock, the lock is reserved for such clients until
-- that one will have asked: it has no id, and is not free until then.
--
-- $1: name, $2: id, $3: channel
-- returns: a client listens; the clock in microseconds; the timeline; nothing if the lock does not have the id
UPDATE {{table}} AS l
SET id = NULL, until = {{until}}{{reserved}}
WHERE l.name = $1::text AND (SELECT id FROM {{table}} WHERE name = $1::text FOR NO KEY UPDATE) = $2::text
RETURNING CASE WHEN l.wanted > clock_timestamp()
    THEN {{tell}} IS NOT NULL AND {{hurry}} IS NOT NULL ELSE false END,
    (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, left(pg_walfile_name(pg_current_wal_lsn()), 8)
