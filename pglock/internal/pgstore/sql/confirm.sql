-- Locks rows that have an id. That is written to the log, behind what gave them the id: the commit waits until both are
-- on the disk, and where synchronous_standby_names want them. A commit of what was only read would wait for nothing.
--
-- $1: names, $2: id
SELECT FROM {{table}} WHERE name = ANY ($1::text[]) AND id = $2::text ORDER BY name FOR NO KEY UPDATE
