-- Ends a reader's hold, and wakes who waits if it was the last.
--
-- KEYS[1]  lock
-- KEYS[2]  hold key 1; absent: it is left to its expiry
-- ARGV[1]  hold id
-- ARGV[2]  channel; not a key, because that would make the script one of more keys, which
--          a migrating slot refuses
-- ARGV[3]  PUBLISH or SPUBLISH
-- ARGV[4]  1: tell the time
-- ARGV[5]  what the names of hold keys begin with
--
-- Returns {status, receivers, server time in us or 0}:
--   3 done: receivers of the message, as far as this node knows; -1: not published; 0: there
--     are others in
--   4 gone: the hold is not there, or its hold key is gone; what was left of it is removed
-- Publishes '0' if nobody is left, or nobody who seems to live: then a writer comes and looks.
--
-- The time is read before the hold is looked at: "not there, at this time" then proves
-- that an acquisition whose not-after lies behind it will never take the lock.
-- The TTL of the lock stays: to know what it has to be, all readers would have to be walked.
-- It may be too long, never too short. A writer of ours looks at the hold keys; one of Java's
-- waits for it, unless a reader of Java's leaves, which walks them.
-- DEL, or HDEL, is the first write, which Redis accepts at full memory.
local lock, hold, id, now = KEYS[1], KEYS[2], ARGV[1], 0
if ARGV[4] == '1' then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local fields = redis.call('HMGET', lock, 'mode', id)
if not fields[2] then
  if hold then
    redis.call('DEL', hold)
  end
  return {4, 0, now}
end
local size, tell = redis.call('HLEN', lock), fields[1] ~= 'write'
local free = tell and size == 2
if tell and not free then
  local base, but = ARGV[5], id
  --!include rw_alive
  tell = alive == 0
end
if free then
  redis.call('DEL', lock)
else
  redis.call('HDEL', lock, id)
end
local status = 3
if hold then
  if redis.call('DEL', hold) == 0 then
    status = 4
  end
end
local receivers = 0
if tell then
  receivers = redis.pcall(ARGV[3], ARGV[2], '0')
  if type(receivers) ~= 'number' then
    receivers = -1
  end
end
return {status, receivers, now}
