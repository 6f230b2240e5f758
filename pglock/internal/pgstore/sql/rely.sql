-- Has the commit wait once more for what an earlier copy of the request took: the commit of the copy may stand here alone,
-- if its connection ended while it waited for a synchronous standby. A transaction that has written nothing waits for
-- nobody, so this one locks the rows, which is written.
--
-- $1: names, $2: id of the one that asks
SELECT 1 FROM {{table}} WHERE name = ANY ($1::text[]) AND id = $2::text ORDER BY name FOR KEY SHARE
