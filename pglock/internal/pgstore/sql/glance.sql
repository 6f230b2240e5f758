-- Reads by what a client knows a server and a table again that it knows from another connection (ready.sql, system.sql).
--
-- $1: the table's name
-- returns: the clock in microseconds; the timeline ('': the server is a standby); the role of the session, as SET ROLE
-- has it; the user whose rights that gives; the number of the session; the system identifier; where the log is, in
-- bytes; the table (0: there is none), and the transaction that last changed what it is: its columns, its rights, its
-- policies, its kind
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END,
    current_setting('role'), current_user::text, pg_backend_pid()::bigint::oid, system_identifier::text,
    CASE WHEN pg_is_in_recovery() THEN 0 ELSE pg_current_wal_lsn() - '0/0'::pg_lsn END::bigint,
    coalesce(t.oid, 0), coalesce(t.xmin::text, '')
FROM pg_control_system() LEFT JOIN pg_class AS t ON t.oid = to_regclass($1::text)
