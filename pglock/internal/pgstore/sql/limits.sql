-- How long the transaction waits for a lock of a row or the table, and whether its commit waits for the disk (and for
-- the synchronous standbys). Both end with the transaction: a pooler may give the connection to somebody else then. No
-- statement has a limit of its own: it would end the wait for a standby, and the commit would stand here alone. That
-- an operator ended that wait is told by a warning, which must not be suppressed.
--
-- $1: milliseconds, as text
-- $2: whether somebody relies on what is written. What the server is told to wait for in addition (remote_apply) stays.
SELECT set_config('lock_timeout', $1::text, true), set_config('synchronous_commit', CASE
    WHEN NOT $2::bool THEN 'off'
    WHEN current_setting('synchronous_commit') = 'remote_apply' THEN 'remote_apply'
    ELSE 'on' END, true),
    set_config('statement_timeout', '0', true), set_config('client_min_messages', 'warning', true)
