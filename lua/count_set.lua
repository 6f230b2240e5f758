-- Makes a semaphore that is not there.
--
-- KEYS[1]  permits
-- KEYS[2]  request: string, there once this request was carried out
-- ARGV[1]  how many
-- ARGV[2]  not-after, server time in us
-- ARGV[3]  life of the request key, ms
-- ARGV[4]  channel
-- ARGV[5]  PUBLISH or SPUBLISH
--
-- Returns {status, permits, server time in us}:
--   -1 late: read after not-after, nothing written
--    0 busy: it is there, with that many free; nothing written
--    2 already: done by an earlier copy of this call; nothing written
--    3 done
-- Publishes how many there are, if there are any.
--
-- A semaphore with no permit left is there. The first write is PSETEX, which Redis refuses
-- at full memory.
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
if found then
  return {0, number, now}
end
redis.call('PSETEX', KEYS[2], ARGV[3], '1')
local total = redis.call('INCRBY', KEYS[1], ARGV[1])
local channel, kind = ARGV[4], ARGV[5]
--!include count_publish
return {3, total, now}
