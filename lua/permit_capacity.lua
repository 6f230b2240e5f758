-- Sets the total number of permits.
--
-- KEYS[1]  permits
-- KEYS[2]  requests: sorted set, request -> server time (ms) until which it is remembered; one
--          with '!' behind it changed nothing
-- KEYS[3]  leases
-- ARGV[1]  request id
-- ARGV[2]  not-after, server time in us
-- ARGV[3]  until when a copy may come, server time in us
-- ARGV[4]  capacity
-- ARGV[5]  channel
-- ARGV[6]  PUBLISH or SPUBLISH
-- ARGV[7]  ms after its last use at which the semaphore expires; 0: it does not
-- ARGV[8]  from here on: times (ms) and ids of requests that are settled
--
-- Returns {status, permits that are free now, server time in us}:
--   -1 late: read after not-after, nothing written
--    2 already: done by an earlier copy of this call; nothing written
--    3 done
-- Publishes how many are free now, if there are any, and otherwise '0' if there are fewer than before: a waiter that
-- asks for more than there are now learns it at once.
--
-- The free permits become the capacity minus all in the set. That is below zero if more are
-- held than the capacity: then nobody gets any until enough were given back. Although the
-- number is absolute, a late copy would undo a later change. The first write is ZADD, which
-- Redis refuses at full memory.
local capacity = tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[2]) then
  return {-1, 0, now}
end
local settled = 8
if redis.call('ZSCORE', KEYS[2], ARGV[1]) then
  return {2, 0, now}
end
local found = redis.call('GET', KEYS[1])
--!include count_number
local held = redis.call('ZCARD', KEYS[3])
local past = string.format('%.0f', math.floor(now / 1000))
local total = capacity - held + redis.call('ZCOUNT', KEYS[3], '-inf', past)
--!include request_done
redis.call('INCRBY', KEYS[1], string.format('%.0f', capacity - held - number))
local permits, leases = KEYS[1], KEYS[3]
local unused, ms = tonumber(ARGV[7]), math.floor(now / 1000)
--!include permit_unused
local channel, kind = ARGV[5], ARGV[6]
--!include count_publish
if total <= 0 and capacity - held < number then
  redis.pcall(kind, channel, '0')
end
return {3, total, now}
