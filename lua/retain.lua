-- Ends a hold and retains the lock until a time, so that nobody has it before: a release for holds with a least
-- duration.
--
-- KEYS[1]  lock
-- ARGV[1]  hold id
-- ARGV[2]  the id under which the lock is retained; never used before, and no holder's
-- ARGV[3]  until, server time in us
-- ARGV[4]  for how long at most, in ms
-- ARGV[5]  channel
-- ARGV[6]  PUBLISH or SPUBLISH
--
-- Returns {status, receivers, server time in us} as release.lua does:
--   3 done: the hold ended; the lock is retained until then, or was released because that is over
--   4 gone: the hold does not exist, nothing written or published
-- Publishes '0', once, if it was the hold that ended.
--
-- The new id makes the rest of the time safe: a renewal, a step of levels or a second release that comes late names the
-- old one and finds nothing, so nothing makes the time longer or shorter. To others it is a lock with one level and a
-- TTL, which ends by itself. The time is absolute, so a copy that comes late retains the lock no longer. A server
-- whose clock was set back since would come to it by that step later, so the time has a bound of its own.
--
-- The message is not about a free lock. Waiters ask again, are told how little is left, and wait as long as that and
-- not for the lease that they were told of before, which a waiter of Redisson would.
--
-- The order of the writes is that of adopt.lua, for its reasons.
local lock, id = KEYS[1], ARGV[1]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if not redis.call('HMGET', lock, id)[1] then
  return {4, 0, now}
end
local left = math.min(math.ceil((ARGV[3] - now) / 1000), tonumber(ARGV[4]))
if left > 0 then
  redis.call('PEXPIRE', lock, left)
  redis.call('HSET', lock, ARGV[2], 1)
end
redis.call('HDEL', lock, id)
local receivers = redis.pcall(ARGV[6], ARGV[5], '0')
if type(receivers) ~= 'number' then
  receivers = -1
end
return {3, receivers, now}
