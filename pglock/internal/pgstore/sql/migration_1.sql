-- The table of locks: one row per name. A release keeps the row, so that the next request finds a row to lock.
--
-- There is no index but the key: an update of the other columns then stays in its page (HOT), and the next look at the
-- page removes the old version. Half of each page stays free for that. A truncation by vacuum would lock the table.
--
-- Of several instances at once, one makes the table, and the others wait for it: IF NOT EXISTS alone fails for some.
DO $holdfast$ BEGIN
PERFORM pg_advisory_xact_lock({{lock}});
CREATE TABLE IF NOT EXISTS {{table}} (
    name       text COLLATE "C" PRIMARY KEY,
    id         text COLLATE "C",                     -- of the grant that has the lock, or had it last; NULL: it was released
    until      timestamptz NOT NULL DEFAULT 'epoch', -- the end of its lease; the lock is free after that
    fence      bigint NOT NULL DEFAULT 0,            -- the newest fencing token
    wanted     timestamptz NOT NULL DEFAULT 'epoch', -- until then another client listens for the release
    note       text,                                 -- what the holder says of itself,
    note_id    text COLLATE "C",                     -- its id,
    note_fence bigint NOT NULL DEFAULT 0,            -- its token,
    note_since timestamptz                           -- and when that was first noted
) WITH (
    fillfactor = 50, vacuum_truncate = off, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000
);
END $holdfast$;
