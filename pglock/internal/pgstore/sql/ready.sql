-- Reads what a client must know before its first request.
--
-- $1: the table's name
-- returns: the server is a standby; the clock in microseconds; the timeline; the table exists; it is permanent; this
-- user may SELECT, INSERT, UPDATE there; its columns
SELECT pg_is_in_recovery(), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END,
    t.oid IS NOT NULL, coalesce(t.relpersistence = 'p', false),
    coalesce(has_table_privilege(t.oid, 'SELECT'), false), coalesce(has_table_privilege(t.oid, 'INSERT'), false),
    coalesce(has_table_privilege(t.oid, 'UPDATE'), false),
    array(SELECT attname::text FROM pg_attribute a WHERE a.attrelid = t.oid AND attnum > 0 AND NOT attisdropped)
FROM (SELECT to_regclass($1::text) AS oid) AS named LEFT JOIN pg_class t ON t.oid = named.oid
