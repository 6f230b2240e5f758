-- Counts down by one, or ends the count.
--
-- KEYS[1]  count
-- KEYS[2]  requests: sorted set, request -> server time (ms) until which it is remembered; one
--          with '!' behind it changed nothing
-- ARGV[1]  request id
-- ARGV[2]  not-after, server time in us
-- ARGV[3]  until when a copy may come, server time in us
-- ARGV[4]  1: by one; 0: to the end
-- ARGV[5]  channel
-- ARGV[6]  PUBLISH or SPUBLISH
-- ARGV[7]  from here on: times (ms) and ids of requests that are settled
--
-- Returns {status, count that is left, server time in us}:
--   -1 late: read after not-after, nothing written
--    2 already: done by an earlier copy of this call; nothing counted
--   3 done; if no count was running, only the key of a finished one was removed, and no
--     copy of this call will touch a later count
-- Publishes '0' when the count has ended, after the key is gone.
--
-- GETEX is the first write because Redis accepts it at full memory and because it changes
-- nothing; after it Redis accepts the others too. Publishing goes through pcall: it can be
-- forbidden to this user, and waiters poll.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[2]) then
  return {-1, 0, now}
end
local settled = 7
local marks = redis.call('ZMSCORE', KEYS[2], ARGV[1], ARGV[1] .. '!')
local found = redis.call('GETEX', KEYS[1])
--!include count_number
if marks[1] then
  return {2, math.max(number, 0), now}
end
if marks[2] or number <= 0 then
  --!include request_idle
  if found and number <= 0 then
    redis.call('DEL', KEYS[1])
  end
  return {marks[2] and 2 or 3, 0, now}
end
local left = ARGV[4] == '1' and number - 1 or 0
--!include request_done
if left > 0 then
  redis.call('DECRBY', KEYS[1], 1)
  return {3, left, now}
end
redis.call('DEL', KEYS[1])
redis.pcall(ARGV[6], ARGV[5], '0')
return {3, 0, now}
