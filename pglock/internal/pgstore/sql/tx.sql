-- Makes sure, within a transaction of the user, that a hold stands, and that no other client takes the lock before the
-- transaction is over: to take it is to lock the row FOR UPDATE, which conflicts with this lock. Renewals and the
-- release change no column of the key, and pass it. It does not compare the lease: as long as the row has the id, no
-- other holder has had the lock.
--
-- $1: name, $2: id
-- returns: one row if the hold stands
SELECT 1 FROM {{table}} WHERE name = $1::text AND id = $2::text FOR KEY SHARE
