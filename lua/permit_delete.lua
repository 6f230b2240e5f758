-- Deletes a semaphore whose permits have leases, if nobody holds any.
--
-- KEYS[1]  permits
-- KEYS[2]  requests: sorted set, request -> server time (ms) until which it is remembered; one
--          with '!' behind it changed nothing
-- KEYS[3]  leases
-- ARGV[1]  request id
-- ARGV[2]  not-after, server time in us
-- ARGV[3]  until when a copy may come, server time in us
-- ARGV[4]  channel
-- ARGV[5]  PUBLISH or SPUBLISH
-- ARGV[6]  from here on: times (ms) and ids of requests that are settled
--
-- Returns {status, permits that are held, server time in us}:
--   -1 late: read after not-after, nothing written
--   0 busy: that many are held; no copy of this call will delete anything
--    2 already: done by an earlier copy of this call; nothing deleted
--    3 done, whether it was there or not
-- Publishes '0' if it was there: waiters go on waiting for a capacity, and know that there is none.
--
-- Without this check a holder would treat its permits as live until the next renewal. With a
-- capacity set again before that, more would be held than there are. GETEX is the first write
-- because Redis accepts it at full memory and because it changes nothing; after it Redis
-- accepts the others too.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[2]) then
  return {-1, 0, now}
end
local settled = 6
local marks = redis.call('ZMSCORE', KEYS[2], ARGV[1], ARGV[1] .. '!')
if marks[1] then
  return {2, 0, now}
end
local past = string.format('(%.0f', math.floor(now / 1000))
local held = redis.call('ZCOUNT', KEYS[3], past, '+inf')
local found = redis.call('GETEX', KEYS[1])
--!include count_number
if marks[2] or held > 0 then
  --!include request_idle
  return {0, held, now}
end
--!include request_done
redis.call('DEL', KEYS[1], KEYS[3])
if found then
  redis.pcall(ARGV[5], ARGV[4], '0')
end
return {3, 0, now}
