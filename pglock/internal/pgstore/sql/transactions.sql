-- Reads which transactions have locked rows of the table for a while. Nobody else gets those locks before they end,
-- whatever the leases are.
--
-- $1: the table's name
-- $2: from how many seconds on
-- returns, the oldest first: the session, 0 for a transaction that is prepared; the name of that; for how many seconds it
-- has been open; what its session does. A user who may not see the sessions of others sees none of them.
WITH {{lockers}}
SELECT DISTINCT pid, prepared, open, state FROM lockers WHERE open >= $2::bigint ORDER BY open DESC LIMIT 5
