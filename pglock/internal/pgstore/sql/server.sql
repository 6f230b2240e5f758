-- Reads what an operator should know of the server. A transaction keeps old row versions by its snapshot, or, once it
-- has written something, by its id: in other databases, too, because every snapshot goes back to the oldest id.
--
-- $1: the table's name
-- returns: the version's number; fsync; full_page_writes; the standbys that follow; how many of them are waited for (0
-- if this user may not see it); what synchronous_standby_names says; the age of the oldest transaction that keeps old
-- row versions, in seconds (of those that this user may see); rows of the table, and dead versions of rows; its size in
-- bytes; the age of the oldest transaction id of all databases, and of the oldest multixact id, which row locks use up;
-- how full the queue of notifications is, from 0 to 1
SELECT current_setting('server_version_num')::int, current_setting('fsync') = 'on',
    current_setting('full_page_writes') = 'on',
    (SELECT count(*) FROM pg_stat_replication),
    (SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')),
    current_setting('synchronous_standby_names'),
    coalesce((
        SELECT extract(epoch FROM max(clock_timestamp() - xact_start))::bigint FROM pg_stat_activity
        WHERE backend_xmin IS NOT NULL OR backend_xid IS NOT NULL
    ), 0),
    coalesce(pg_stat_get_live_tuples(to_regclass($1::text)), 0),
    coalesce(pg_stat_get_dead_tuples(to_regclass($1::text)), 0), coalesce(pg_relation_size(to_regclass($1::text)), 0),
    (SELECT max(age(datfrozenxid)) FROM pg_database), (SELECT max(mxid_age(datminmxid)) FROM pg_database),
    pg_notification_queue_usage()
