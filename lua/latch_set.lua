-- Starts a count.
--
-- KEYS[1]  count: string; absent, or not above zero: the latch is open
-- KEYS[2]  requests: sorted set, request -> server time (ms) until which it is remembered; one
--          with '!' behind it changed nothing
-- ARGV[1]  request id
-- ARGV[2]  not-after, server time in us
-- ARGV[3]  until when a copy may come, server time in us
-- ARGV[4]  the count
-- ARGV[5]  channel
-- ARGV[6]  PUBLISH or SPUBLISH
-- ARGV[7]  until the count ends by itself, ms; 0: it does not
-- ARGV[8]  from here on: times (ms) and ids of requests that are settled
--
-- Returns {status, count, server time in us}:
--   -1 late: read after not-after, nothing written
--   0 busy: a count is running, and is returned; no copy of this call will start one
--    2 already: done by an earlier copy of this call; nothing written
--    3 done
-- Publishes '1', which tells Redisson's waiters that the gate is closed.
--
-- If a count is started, the first write is ZADD, which Redis refuses at full memory; for a
-- refusal it is GETEX, which Redis accepts.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[2]) then
  return {-1, 0, now}
end
local settled = 8
local marks = redis.call('ZMSCORE', KEYS[2], ARGV[1], ARGV[1] .. '!')
if marks[1] then
  return {2, 0, now}
end
local found = redis.call('GET', KEYS[1])
--!include count_number
if marks[2] or number > 0 then
  redis.call('GETEX', KEYS[1])
  --!include request_idle
  return {0, number, now}
end
--!include request_done
redis.call('INCRBY', KEYS[1], string.format('%.0f', ARGV[4] - number))
if ARGV[7] ~= '0' then
  redis.call('PEXPIRE', KEYS[1], ARGV[7])
end
local total, channel, kind = 1, ARGV[5], ARGV[6]
--!include count_publish
return {3, tonumber(ARGV[4]), now}
