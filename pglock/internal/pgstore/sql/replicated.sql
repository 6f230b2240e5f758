-- Counts the standbys that have what this server has written. Sent behind a commit that waited for the disk, it counts
-- those that have the commit, whatever synchronous_standby_names says, or said while the commit waited. A subscriber of
-- logical replication is no standby.
--
-- $1: up to where, as an earlier answer says; '': up to what is on this server's disk
-- returns: up to where; how many standbys have that on their disks
SELECT upto.lsn::text, (
    SELECT count(*) FROM pg_stat_replication AS r WHERE r.flush_lsn >= upto.lsn AND NOT EXISTS (
        SELECT FROM pg_replication_slots AS s WHERE s.active_pid = r.pid AND s.slot_type = 'logical'
    )
)
FROM (SELECT coalesce(nullif($1::text, '')::pg_lsn, pg_current_wal_flush_lsn()) AS lsn) AS upto
