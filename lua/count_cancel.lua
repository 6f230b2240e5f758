-- Cancels an acquisition: gives back what it took, and keeps it from taking any.
--
-- KEYS[1]  permits
-- KEYS[2]  request
-- ARGV[1]  life of the request key, ms
-- ARGV[2]  channel
-- ARGV[3]  PUBLISH or SPUBLISH
--
-- Returns {status, receivers, server time in us}:
--   3 done: given back
--   4 gone: it had taken nothing, or that was given back before
-- Publishes how many are free now, if some were given back.
--
-- GETEX is the first write because Redis accepts it at full memory and because it changes
-- nothing; after it the others are accepted too.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local taken = redis.call('GETEX', KEYS[2])
if taken == '0' then
  return {4, 0, now}
end
local found = redis.call('GET', KEYS[1])
--!include count_number
redis.call('PSETEX', KEYS[2], ARGV[1], '0')
if not taken then
  return {4, 0, now}
end
local total = redis.call('INCRBY', KEYS[1], taken)
local channel, kind = ARGV[2], ARGV[3]
--!include count_publish
return {3, receivers, now}
