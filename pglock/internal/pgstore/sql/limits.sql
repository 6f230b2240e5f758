-- Sets how long the transaction waits for a lock of a row or of the table, and whether its commit waits for the disk
-- (and for the synchronous standbys). Both settings end with the transaction: a pooler may then give the connection to
-- another client. No statement has a time limit: that would also end the wait for a standby, and the commit would stand
-- on this server alone. If an operator ends such a wait, the server sends a warning, which must not be suppressed.
--
-- It also sets the role in which the table was found: a session of a pooler may have another one, which another client
-- left behind.
--
-- Where nobody relies on what is written, the commit waits for no disk, and warnings are nothing to wait for.
--
-- $1: milliseconds, as text
-- $2: the role
SELECT set_config('lock_timeout', $1::text, true), {{commit}}, set_config('statement_timeout', '0', true),
    CASE WHEN current_setting('role') <> $2::text THEN set_config('role', $2::text, true) END
