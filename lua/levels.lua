-- Tells how many levels a hold has, for those who look.
--
-- The answer to a caller without the right to HINCRBY is an error, and the count stays what it was.
--
-- KEYS[1]  lock
-- ARGV[1]  hold id
-- ARGV[2]  from: the count that the caller knows of, 1 at least
-- ARGV[3]  to: the count that there is now, 1 at least
--
-- Returns the count that stands now: to, or another one than from, and then nothing was written;
-- 0: the hold does not exist, nothing was written. Publishes nothing.
--
-- The count is looked at first, because HINCRBY makes the field and the key if they are not there:
-- after a DEL that would be a lock without expiry, for ever held by nobody. The caller sends one
-- step at a time, and starts the next one from what stands. So a second copy finds another count
-- than from. A copy that comes when from stands again does its step once more: until the next step,
-- which is told so, or until the release, the count is wrong then. Nothing depends on it: no script
-- decides by a count, and all end a hold whatever its count. No TTL is changed.
local lock, id, from = KEYS[1], ARGV[1], ARGV[2]
local stands = redis.call('HMGET', lock, id)[1]
if not stands then
  return 0
end
if stands == from then
  return redis.call('HINCRBY', lock, id, ARGV[3] - from)
end
return tonumber(stands)
