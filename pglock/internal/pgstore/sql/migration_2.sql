-- A column for clients that hear of no release, as behind a pooler in transaction mode, and ask again and again: until
-- when a release leaves the lock to them. A client goes on with a table that does not have it.
--
-- To add a column with a constant default rewrites no row.
DO $holdfast$ BEGIN
PERFORM pg_advisory_xact_lock({{lock}});
ALTER TABLE {{table}} ADD COLUMN IF NOT EXISTS polled timestamptz NOT NULL DEFAULT 'epoch';
END $holdfast$;
