-- Deletes a semaphore whose permits nobody owns.
--
-- KEYS[1]  permits
-- KEYS[2]  requests: sorted set, request -> server time (ms) until which it is remembered; one
--          with '!' behind it changed nothing
-- ARGV[1]  request id
-- ARGV[2]  not-after, server time in us
-- ARGV[3]  until when a copy may come, server time in us
-- ARGV[4]  from here on: times (ms) and ids of requests that are settled
--
-- Returns {status, permits that were free, server time in us}:
--   -1 late: read after not-after, nothing written
--    2 already: done by an earlier copy of this call; nothing deleted
--    3 done, whether it was there or not
-- Publishes nothing: waiters go on waiting until somebody adds permits.
--
-- GETEX is the first write because Redis accepts it at full memory and because it changes nothing; after it Redis
-- accepts the others too.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[2]) then
  return {-1, 0, now}
end
local settled = 4
if redis.call('ZSCORE', KEYS[2], ARGV[1]) then
  return {2, 0, now}
end
local found = redis.call('GETEX', KEYS[1])
--!include count_number
--!include request_done
redis.call('DEL', KEYS[1])
return {3, number, now}
