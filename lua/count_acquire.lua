-- Takes permits that nobody owns.
--
-- KEYS[1]  permits: string, how many are free
-- KEYS[2]  request: string, how many this request took; 0: it was cancelled
-- ARGV[1]  how many
-- ARGV[2]  not-after, server time in us
-- ARGV[3]  life of the request key, ms
--
-- Returns {status, 0, time in ms, server time in us}:
--   -1 late: read after not-after, nothing written
--    0 busy: not enough are free, or the request was cancelled; nothing written
--    1 held: taken by this call
--    2 already: taken by an earlier copy of this call; nothing written
-- Publishes nothing.
--
-- The first write is PSETEX, which Redis refuses at full memory.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[2]) then
  return {-1, 0, 0, now}
end
local before = redis.call('GET', KEYS[2])
if before then
  return {before == '0' and 0 or 2, 0, 3600000, now}
end
local found = redis.call('GET', KEYS[1])
--!include count_number
if number < tonumber(ARGV[1]) then
  return {0, 0, 3600000, now}
end
redis.call('PSETEX', KEYS[2], ARGV[3], ARGV[1])
redis.call('DECRBY', KEYS[1], ARGV[1])
return {1, 0, 0, now}
