-- Reads which transactions have locked rows of the table: by Tx, or by hand. It is part of other statements. A
-- transaction that has locked a row has an id, and has that locked, too. The id stands in the row, or in the list of
-- which the row has the number.
--
-- A request of a client locks rows for a moment, too. It also writes, so a transaction that writes and is in the middle of
-- a statement counts after a second. A commit that waits for a standby or the disk does not count.
--
-- $1: the table's name
locks AS MATERIALIZED (
    SELECT locktype, database, relation, virtualtransaction, transactionid, pid, mode FROM pg_locks WHERE granted
), lockers AS MATERIALIZED (
    SELECT x.transactionid AS xid, coalesce(x.pid, 0) AS pid, coalesce(p.gid, '') AS prepared,
        coalesce(extract(epoch FROM clock_timestamp() - coalesce(a.xact_start, p.prepared))::bigint, 0) AS open,
        CASE WHEN x.pid IS NOT NULL THEN coalesce(a.state, '') ELSE 'prepared' END AS state
    FROM locks AS x
        LEFT JOIN pg_stat_activity AS a ON a.pid = x.pid
        LEFT JOIN pg_prepared_xacts AS p ON x.pid IS NULL AND p.transaction = x.transactionid,
        LATERAL (
            SELECT bool_or(t.mode = 'RowExclusiveLock') AS writes FROM locks AS t
            WHERE t.virtualtransaction = x.virtualtransaction AND t.relation = to_regclass($1::text)
                AND t.database = (SELECT oid FROM pg_database WHERE datname = current_database())
                AND t.mode IN ('RowShareLock', 'RowExclusiveLock')
        ) AS of
    WHERE x.locktype = 'transactionid' AND x.mode = 'ExclusiveLock' AND x.pid IS DISTINCT FROM pg_backend_pid()
        AND coalesce(a.wait_event, '') NOT IN ('SyncRep', 'WALSync', 'WALWrite')
        AND (NOT of.writes OR of.writes AND (x.pid IS NULL OR a.state LIKE 'idle in transaction%'
            OR clock_timestamp() - a.xact_start >= interval '1 second'))
)
