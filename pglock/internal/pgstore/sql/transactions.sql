-- Reads which transactions have locked rows of the table for a while: by Tx, or by hand. Nobody else gets those locks
-- before they end, whatever the leases are. A request that waits for a standby is none of them.
--
-- $1: the table's name, $2: from how many seconds on
-- returns, the oldest first: the session, 0 for a transaction that is prepared; the name of that; for how many seconds it
-- has been open; what its session does. A user who may not see the sessions of others sees none of them.
SELECT coalesce(l.pid, 0), coalesce(p.gid, ''), extract(epoch FROM since.began)::bigint, coalesce(a.state, 'prepared')
FROM pg_locks AS l
    LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
    LEFT JOIN pg_locks AS x ON l.pid IS NULL AND x.virtualtransaction = l.virtualtransaction
        AND x.locktype = 'transactionid'
    LEFT JOIN pg_prepared_xacts AS p ON p.transaction = x.transactionid,
    LATERAL (SELECT clock_timestamp() - coalesce(a.xact_start, p.prepared) AS began) AS since
WHERE l.relation = to_regclass($1::text) AND l.mode = 'RowShareLock'
    AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    AND coalesce(a.wait_event, '') <> 'SyncRep' AND since.began >= $2::bigint * interval '1 second'
ORDER BY since.began DESC LIMIT 5
