-- Tells other clients that this one waits for locks that others have. Whoever takes turns with it is known by the
-- releases; one that comes anew is not. A message in a transaction that took something would be sent under a lock of the
-- whole database while the commit waits for the disk, so none is sent then.
--
-- $1: channel, $2: id of the one that asks, $3: names
SELECT count(pg_notify($1::text, '+' || $2::text || ' ' || name)) FROM {{table}}
WHERE name = ANY ($3::text[]) AND until > clock_timestamp() AND id IS DISTINCT FROM $2::text
