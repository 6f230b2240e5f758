-- Reports who holds a lock, for operators and for diagnosis.
--
-- KEYS[1]  lock
-- KEYS[2]  token: string, the newest fencing token of the name; may be absent
-- ARGV[1]  channel on which waiters listen
-- ARGV[2]  NUMSUB, or SHARDNUMSUB where releases are published by SPUBLISH
--
-- Returns {PTTL in ms (-1: it never expires; -2: nobody holds it), fencing token or nil, subscribers of the
-- channel at this node (-1: the server does not tell), {field, value, ...} of the hash}.
-- Writes and publishes nothing.
local lock, token = KEYS[1], KEYS[2]
local pttl = redis.call('PTTL', lock)
local fields = {}
if pttl ~= -2 then
  --!include hash
end
local fence = false
if token then
  fence = redis.call('GET', token)
end
local heard = redis.pcall('PUBSUB', ARGV[2], ARGV[1])
local subscribers = -1
if not heard.err then
  subscribers = heard[2]
end
return {pttl, fence, subscribers, fields}
