-- Sets how long the transaction waits for a lock of a row or of the table, and whether its commit waits for the disk
-- (and for the synchronous standbys). Both settings end with the transaction: a pooler may then give the connection to
-- another client. No statement has a time limit: that would also end the wait for a standby, and the commit would stand
-- on this server alone. If an operator ends such a wait, the server sends a warning, which must not be suppressed.
--
-- It also sets the role in which the table was found: a session of a pooler may have another one, which another client
-- left behind.
--
-- $1: milliseconds, as text
-- $2: a holder relies on what is written. If the server waits for more by default (remote_apply), that stays.
-- $3: the role
SELECT set_config('lock_timeout', $1::text, true), set_config('synchronous_commit', CASE
    WHEN NOT $2::bool THEN 'off'
    WHEN current_setting('synchronous_commit') = 'remote_apply' THEN 'remote_apply'
    ELSE 'on' END, true),
    set_config('statement_timeout', '0', true), set_config('client_min_messages', 'warning', true),
    CASE WHEN current_setting('role') <> $3::text THEN set_config('role', $3::text, true) END
