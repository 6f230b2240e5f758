-- Reports who holds permits, for operators and for diagnosis.
--
-- KEYS[1]  leases
-- KEYS[2]  permits; may be left out
-- ARGV[1]  channel on which waiters listen
-- ARGV[2]  NUMSUB, or SHARDNUMSUB where releases are published by SPUBLISH
--
-- Returns {server time in ms, subscribers of the channel at this node (-1: the server does
-- not tell), {permit, time of its expiry in ms, ...}}: those whose lease is not over, the
-- first to end first, 10,000 at most.
-- Writes and publishes nothing.
local time = redis.call('TIME')
local now = math.floor((time[1] * 1000000 + time[2]) / 1000)
if KEYS[2] then
  local found = redis.call('GET', KEYS[2])
  --!include count_number
end
local held = redis.call('ZRANGEBYSCORE', KEYS[1], string.format('(%.0f', now), '+inf',
  'WITHSCORES', 'LIMIT', 0, 10000)
local heard = redis.pcall('PUBSUB', ARGV[2], ARGV[1])
local subscribers = -1
if not heard.err then
  subscribers = heard[2]
end
return {now, subscribers, held}
