-- Reads how many permits are free, or how many there are in all.
--
-- KEYS[1]  permits
-- KEYS[2]  leases
-- ARGV[1]  1: all; 0: those that are free
--
-- Returns {status, how many, 0}:
--   0 because nothing was written
--   4 gone: no capacity was set
-- Writes and publishes nothing.
--
-- Permits whose leases have ended are free, though they are still in the set. Less than zero are free if more are
-- held than the capacity.
local found = redis.call('GET', KEYS[1])
--!include count_number
if not found then
  return {4, 0, 0}
end
if ARGV[1] == '1' then
  return {0, number + redis.call('ZCARD', KEYS[2]), 0}
end
local time = redis.call('TIME')
local past = string.format('%.0f', math.floor(time[1] * 1000 + time[2] / 1000))
return {0, number + redis.call('ZCOUNT', KEYS[2], '-inf', past), 0}
