-- Adds permits, by whichever caller they were taken, or takes some away, though others may have them.
--
-- KEYS[1]  permits
-- KEYS[2]  requests: sorted set, request -> server time (ms) until which it is remembered; one
--          with '!' behind it changed nothing
-- ARGV[1]  request id
-- ARGV[2]  not-after, server time in us
-- ARGV[3]  until when a copy may come, server time in us
-- ARGV[4]  how many; below zero: to take away
-- ARGV[5]  channel
-- ARGV[6]  PUBLISH or SPUBLISH
-- ARGV[7]  how many there may be at most, and as many below zero
-- ARGV[8]  from here on: times (ms) and ids of requests that are settled
--
-- Returns {status, permits that are free now, server time in us}:
--   -1 late: read after not-after, nothing written
--    2 already: done by an earlier copy of this call; nothing written
--    3 done
-- or the error HOLDFASTCAPACITY <n> if there would be too many, or too few, where n is how many fit; then nothing was
-- changed, and no copy will change anything.
-- Publishes how many are free now, if there are any.
--
-- GETEX is the first write because Redis accepts it at full memory and because it changes nothing; after it Redis
-- accepts the others too.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[2]) then
  return {-1, 0, now}
end
local settled = 8
local marks = redis.call('ZMSCORE', KEYS[2], ARGV[1], ARGV[1] .. '!')
local found = redis.call('GETEX', KEYS[1])
--!include count_number
if marks[1] then
  return {2, number, now}
end
local by, most = tonumber(ARGV[4]), tonumber(ARGV[7])
local total = number + by
if marks[2] or total > most or total < -most then
  --!include request_idle
  local fit = by < 0 and math.min(-most - number, 0) or math.max(most - number, 0)
  return redis.error_reply('HOLDFASTCAPACITY ' .. string.format('%.0f', fit))
end
--!include request_done
redis.call('INCRBY', KEYS[1], ARGV[4])
local channel, kind = ARGV[5], ARGV[6]
--!include count_publish
return {3, total, now}
