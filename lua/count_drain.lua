-- Takes all permits that are free.
--
-- KEYS[1]  permits
-- KEYS[2]  request: string, how many this request took
-- ARGV[1]  not-after, server time in us
-- ARGV[2]  life of the request key, ms
--
-- Returns {status, how many were taken, server time in us}:
--   -1 late: read after not-after, nothing written
--    2 already: taken by an earlier copy of this call; nothing written
--    3 done
-- Publishes nothing.
--
-- A number below zero stays as it is: setting it to zero would make permits. The first
-- write is PSETEX, which Redis refuses at full memory.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[1]) then
  return {-1, 0, now}
end
local before = redis.call('GET', KEYS[2])
if before then
  return {2, tonumber(before), now}
end
local found = redis.call('GET', KEYS[1])
--!include count_number
if number <= 0 then
  return {3, 0, now}
end
redis.call('PSETEX', KEYS[2], ARGV[2], found)
redis.call('DECRBY', KEYS[1], found)
return {3, number, now}
