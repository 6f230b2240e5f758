-- Starts a count.
--
-- KEYS[1]  count: string; absent, or not above zero: the latch is open
-- KEYS[2]  request: string, there once this request was carried out
-- ARGV[1]  the count
-- ARGV[2]  not-after, server time in us
-- ARGV[3]  life of the request key, ms
-- ARGV[4]  channel
-- ARGV[5]  PUBLISH or SPUBLISH
--
-- Returns {status, count, server time in us}:
--   -1 late: read after not-after, nothing written
--    0 busy: a count is running, and stands there; nothing written
--    2 already: done by an earlier copy of this call; nothing written
--    3 done
-- Publishes '1', by which Redisson's waiters learn that the gate is closed.
--
-- The first write is PSETEX, which Redis refuses at full memory.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[2]) then
  return {-1, 0, now}
end
if redis.call('EXISTS', KEYS[2]) == 1 then
  return {2, 0, now}
end
local found = redis.call('GET', KEYS[1])
--!include count_number
if number > 0 then
  return {0, number, now}
end
redis.call('PSETEX', KEYS[2], ARGV[3], '1')
redis.call('INCRBY', KEYS[1], string.format('%.0f', ARGV[1] - number))
local total, channel, kind = 1, ARGV[4], ARGV[5]
--!include count_publish
return {3, tonumber(ARGV[1]), now}
