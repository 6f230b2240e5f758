-- Ends a hold, whatever its count, and wakes the lock's waiters.
--
-- KEYS[1]  lock
-- ARGV[1]  hold id
-- ARGV[2]  channel; not a key, because that would make the script one of two keys, which
--          a migrating slot refuses
-- ARGV[3]  PUBLISH or SPUBLISH; empty: nobody is told
-- ARGV[4]  1: tell the time
--
-- Returns {status, receivers, server time in us or 0}:
--   3 done: receivers of the message, as far as this node knows; -1: not published
--   4 gone: the hold does not exist, nothing written or published
-- Publishes '0', once, if it was the hold that ended and somebody is to be told.
--
-- The time is read before the hold is looked up: "not there, at this time" then proves that
-- an acquisition whose not-after is before it will never take the lock. The hash contains
-- only this hold, and an empty hash is deleted, so one call both finds the hold and deletes
-- the lock. PUBLISH goes through pcall: it can be forbidden to
-- this user, and the caller must still learn that the lock is free. Waiters poll.
local now = 0
if ARGV[4] == '1' then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
if redis.call('HDEL', KEYS[1], ARGV[1]) == 0 then
  return {4, 0, now}
end
local receivers = 0
if ARGV[3] ~= '' then
  receivers = redis.pcall(ARGV[3], ARGV[2], '0')
  if type(receivers) ~= 'number' then
    receivers = -1
  end
end
return {3, receivers, now}
