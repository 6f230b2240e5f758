-- Ends a writer's hold, and wakes who waits. Read holds that were taken
-- inside it stay, and the lock is theirs then. For a writer that has no hold: opens the gate
-- that it shut.
--
-- KEYS[1]  lock
-- KEYS[2]  gate; absent: left to its expiry
-- ARGV[1]  hold id
-- ARGV[2]  channel; not a key, because that would make the script one of more keys, which
--          a migrating slot refuses
-- ARGV[3]  PUBLISH or SPUBLISH
-- ARGV[4]  1: tell the time
--
-- Returns {status, receivers, server time in us or 0}:
--   3 done: receivers of the message, as far as this node knows; -1: not published
--   4 gone: the hold is not there; at most the gate was opened, and that published
-- Publishes '1', which wakes all: readers come in together. Then, if nobody has the lock,
-- '0': a Java thread that was just about to sleep finds it when it does.
--
-- The time is read before the hold is looked at: "not there, at this time" then proves
-- that an acquisition whose not-after lies behind it will never take the lock.
-- DEL, or HDEL, is the first write, which Redis accepts at full memory.
local lock, gate, id = KEYS[1], KEYS[2], ARGV[1]
local field, now = id .. ':write', 0
if ARGV[4] == '1' then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
if redis.call('HEXISTS', lock, field) == 0 then
  if gate and redis.call('GET', gate) == id then
    redis.call('DEL', gate)
    redis.pcall(ARGV[3], ARGV[2], '1')
  end
  return {4, 0, now}
end
local free = redis.call('HLEN', lock) == 2
if free then
  redis.call('DEL', lock)
else
  redis.call('HDEL', lock, field)
  redis.call('HSET', lock, 'mode', 'read')
end
local receivers = redis.pcall(ARGV[3], ARGV[2], '1')
if type(receivers) ~= 'number' then
  receivers = -1
elseif free then
  redis.pcall(ARGV[3], ARGV[2], '0')
end
return {3, receivers, now}
