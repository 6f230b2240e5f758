-- Reads which database cluster a connection leads to, and how far it has written. A dump that was restored, or a server
-- beside this one, has the same timeline and another identifier; a copy of the disks has that, too, and has written less.
--
-- returns: the system identifier; where the log is, in bytes; 0 on a standby
SELECT system_identifier::text,
    CASE WHEN pg_is_in_recovery() THEN 0 ELSE pg_current_wal_lsn() - '0/0'::pg_lsn END::bigint
FROM pg_control_system()
