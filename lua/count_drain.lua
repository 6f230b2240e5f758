-- Takes all permits that are free.
--
-- KEYS[1]  permits
-- KEYS[2]  requests: sorted set, request -> server time (ms) until which it is remembered; one
--          with '!' behind it changed nothing
-- ARGV[1]  request id
-- ARGV[2]  not-after, server time in us
-- ARGV[3]  until when a copy may come, server time in us
-- ARGV[4]  from here on: times (ms) and ids of requests that are settled
--
-- Returns {status, how many were taken, server time in us}:
--   -1 late: read after not-after, nothing written
--    2 already: taken by an earlier copy of this call; nothing taken
--    3 done
-- Publishes nothing.
--
-- The number of taken permits is kept in the set beside the request, as <request id>=<number>, with the same time, by
-- which it is found. A number below zero stays as it is: setting it to zero would create permits. If permits are
-- taken, the first write is ZADD, which Redis refuses at full memory; otherwise it is GETEX, which Redis accepts.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[2]) then
  return {-1, 0, now}
end
local settled = 4
local marks = redis.call('ZMSCORE', KEYS[2], ARGV[1], ARGV[1] .. '!')
if marks[1] then
  local taken, prefix = 0, ARGV[1] .. '='
  for _, mark in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], marks[1], marks[1])) do
    if string.sub(mark, 1, #prefix) == prefix then
      taken = tonumber(string.sub(mark, #prefix + 1))
    end
  end
  return {2, taken, now}
end
local found = redis.call('GET', KEYS[1])
--!include count_number
if marks[2] or number <= 0 then
  redis.call('GETEX', KEYS[1])
  --!include request_idle
  return {marks[2] and 2 or 3, 0, now}
end
--!include request_done
redis.call('ZADD', KEYS[2], until_ms, ARGV[1] .. '=' .. found)
redis.call('DECRBY', KEYS[1], found)
return {3, number, now}
