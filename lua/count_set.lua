-- Creates a semaphore that does not exist.
--
-- KEYS[1]  permits
-- KEYS[2]  requests: sorted set, request -> server time (ms) until which it is remembered; one
--          with '!' behind it changed nothing
-- ARGV[1]  request id
-- ARGV[2]  not-after, server time in us
-- ARGV[3]  until when a copy may come, server time in us
-- ARGV[4]  how many
-- ARGV[5]  channel
-- ARGV[6]  PUBLISH or SPUBLISH
-- ARGV[7]  from here on: times (ms) and ids of requests that are settled
--
-- Returns {status, permits, server time in us}:
--   -1 late: read after not-after, nothing written
--   0 busy: it exists, with that many free; no copy of this call will create it
--    2 already: done by an earlier copy of this call; nothing written
--    3 done
-- Publishes how many there are, if there are any.
--
-- A semaphore with no permits left exists. If it is created, the first write is ZADD, which Redis refuses at full
-- memory; if that is refused, it is GETEX, which Redis accepts.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[2]) then
  return {-1, 0, now}
end
local settled = 7
local marks = redis.call('ZMSCORE', KEYS[2], ARGV[1], ARGV[1] .. '!')
if marks[1] then
  return {2, 0, now}
end
local found = redis.call('GET', KEYS[1])
--!include count_number
if marks[2] or found then
  redis.call('GETEX', KEYS[1])
  --!include request_idle
  return {0, number, now}
end
--!include request_done
local total = redis.call('INCRBY', KEYS[1], ARGV[4])
local channel, kind = ARGV[5], ARGV[6]
--!include count_publish
return {3, total, now}
