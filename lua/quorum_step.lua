-- Writes how many levels a hold has, at one of several independent nodes.
--
-- KEYS[1]  lock
-- KEYS[2]  token
-- ARGV[1]  hold id
-- ARGV[2]  count of the levels
-- ARGV[3]  operation number of the hold, higher with each re-entry and inner release
-- ARGV[4]  TTL, ms: the least that the lock gets (one level more), or what it gets (one
-- level less)
-- ARGV[5]  fencing token of the hold
-- ARGV[6]  life of an unused token, ms; negative: for ever
-- ARGV[7]  1: one level less
--
-- Returns {status, 1, token, 0, server time in us, 0}: 3 done; 2 already: this operation or
-- a later one was seen; 4 gone: the hold is not there, nothing written. Publishes nothing.
--
-- It is Reenter and Leave in one (see there), and raises the stored token like every
-- request for a hold: a node whose grant came late counts from then on.
local lock, token, id, op, ttl = KEYS[1], KEYS[2], ARGV[1], ARGV[3], ARGV[4]
local raise, fence_ttl = ARGV[5], tonumber(ARGV[6])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local hold = redis.call('HMGET', lock, id, id .. ':n')
if not hold[1] then
  return {4, 0, 0, 0, now, 0}
end
--!include quorum_fence
if bad then
  return bad
end
local status = 3
if hold[2] and tonumber(hold[2]) >= tonumber(op) then
  status = 2
elseif ARGV[7] == '1' then
  redis.call('PEXPIRE', lock, ttl)
  redis.call('HSET', lock, id, ARGV[2], id .. ':n', op)
else
  local pttl = redis.call('PTTL', lock)
  redis.call('HSET', lock, id, ARGV[2], id .. ':n', op)
  if pttl < tonumber(ttl) then
    redis.call('PEXPIRE', lock, ttl)
  end
end
if stored < tonumber(raise) then
  --!include quorum_raise
  if raised.err then
    return raised
  end
end
return {status, 1, tonumber(raise), 0, now, 0}
