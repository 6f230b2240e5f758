-- Sets how many permits there are in all.
--
-- KEYS[1]  permits
-- KEYS[2]  leases
-- KEYS[3]  request: string, there once this request was carried out
-- ARGV[1]  capacity
-- ARGV[2]  not-after, server time in us
-- ARGV[3]  life of the request key, ms
-- ARGV[4]  channel
-- ARGV[5]  PUBLISH or SPUBLISH
--
-- Returns {status, permits that are free now, server time in us}:
--   -1 late: read after not-after, nothing written
--    2 already: done by an earlier copy of this call; nothing written
--    3 done
-- Publishes how many are free now, if there are any.
--
-- What is free becomes the capacity less all that stand in the set, which is below zero
-- when more are held than there are to be: then nobody gets any until enough came back.
-- Though the number is absolute, a copy that comes late would undo a later change.
local permits, leases = KEYS[1], KEYS[2]
local capacity = tonumber(ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[2]) then
  return {-1, 0, now}
end
if redis.call('EXISTS', KEYS[3]) == 1 then
  return {2, 0, now}
end
local found = redis.call('GET', permits)
--!include count_number
local held = redis.call('ZCARD', leases)
local past = string.format('%.0f', math.floor(now / 1000))
local total = capacity - held + redis.call('ZCOUNT', leases, '-inf', past)
redis.call('PSETEX', KEYS[3], ARGV[3], '1')
redis.call('INCRBY', permits, string.format('%.0f', capacity - held - number))
local channel, kind = ARGV[4], ARGV[5]
--!include count_publish
return {3, total, now}
