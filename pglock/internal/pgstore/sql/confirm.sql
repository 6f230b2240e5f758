-- Locks rows that have an id. The lock is written to the log, behind what gave the rows the id, so the commit waits
-- until both are on the disk, and where synchronous_standby_names wants them. The commit of a transaction that only
-- read would wait for nothing.
--
-- $1: names, $2: id
-- returns, for each row with the id: the name, the token
SELECT name, fence FROM {{table}} WHERE name = ANY ($1::text[]) AND id = $2::text ORDER BY name FOR NO KEY UPDATE
