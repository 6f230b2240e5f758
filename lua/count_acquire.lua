-- Takes permits that nobody owns.
--
-- KEYS[1]  permits: string, how many are free
-- KEYS[2]  requests: sorted set, request -> server time (ms) until which it is remembered; one
--          with '!' behind it changed nothing
-- ARGV[1]  request id
-- ARGV[2]  not-after, server time in us
-- ARGV[3]  until when a copy may come, server time in us
-- ARGV[4]  how many
-- ARGV[5]  1: if it is refused nobody asks again, so that a copy must take nothing
-- ARGV[6]  from here on: times (ms) and ids of requests that are settled
--
-- Returns {status, 0, time in ms, server time in us}:
--   -1 late: read after not-after, nothing written
--    0 busy: not enough are free, or the request was cancelled; nothing taken
--    1 held: taken by this call
--    2 already: taken by an earlier copy of this call; nothing written
-- Publishes nothing.
--
-- A refusal that must be remembered begins with GETEX, which Redis accepts at full memory and which changes nothing;
-- after it Redis accepts ZADD too.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[2]) then
  return {-1, 0, 0, now}
end
local settled = 6
local marks = redis.call('ZMSCORE', KEYS[2], ARGV[1], ARGV[1] .. '!')
if marks[1] then
  return {2, 0, 3600000, now}
end
local found = redis.call('GET', KEYS[1])
--!include count_number
if marks[2] or number < tonumber(ARGV[4]) then
  if marks[2] or ARGV[5] == '1' then
    redis.call('GETEX', KEYS[1])
    --!include request_idle
  end
  return {0, 0, 3600000, now}
end
--!include request_done
redis.call('DECRBY', KEYS[1], ARGV[4])
return {1, 0, 0, now}
