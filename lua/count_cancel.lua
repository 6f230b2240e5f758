-- Cancels an acquisition: gives back what it took, and keeps it from taking any.
--
-- KEYS[1]  permits
-- KEYS[2]  requests: sorted set, request -> server time (ms) until which it is remembered; one
--          with '!' behind it changed nothing
-- ARGV[1]  request id
-- ARGV[2]  how many it asked for
-- ARGV[3]  for how long a copy may come, ms
-- ARGV[4]  channel
-- ARGV[5]  PUBLISH or SPUBLISH
--
-- Returns {status, receivers, server time in us}:
--   3 done: given back
--   4 gone: it had taken nothing, or that was given back before
-- Publishes how many are free now, if some were given back.
--
-- GETEX is the first write because Redis accepts it at full memory and because it changes nothing; after it Redis
-- accepts the others too.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local marks = redis.call('ZMSCORE', KEYS[2], ARGV[1], ARGV[1] .. '!')
if marks[2] and not marks[1] then
  return {4, 0, now}
end
local found = redis.call('GETEX', KEYS[1])
--!include count_number
local keep = math.ceil(now / 1000) + ARGV[3]
redis.call('ZADD', KEYS[2], string.format('%.0f', keep), ARGV[1] .. '!')
redis.call('ZREM', KEYS[2], ARGV[1])
if redis.call('PTTL', KEYS[2]) < tonumber(ARGV[3]) then
  redis.call('PEXPIRE', KEYS[2], string.format('%.0f', 2 * ARGV[3]))
end
if not marks[1] then
  return {4, 0, now}
end
local total = redis.call('INCRBY', KEYS[1], ARGV[2])
local channel, kind = ARGV[4], ARGV[5]
--!include count_publish
return {3, receivers, now}
