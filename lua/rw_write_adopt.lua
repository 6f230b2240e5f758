-- Gives a writer's hold another id: when it is exported that of its way, and then its
-- importer's. The fencing token stays.
--
-- KEYS[1]  lock
-- ARGV[1]  from: the hold's id
-- ARGV[2]  to: its new id
-- ARGV[3]  lease, ms
-- ARGV[4]  not-after, server time in us
--
-- Returns {status, server time in us}:
--   -1 late: read after not-after, nothing written
--    2 already: it has the new id, by an earlier copy of this call
--    1 held: it has the new id, by this call
--    4 gone: neither hold is there, nothing written
-- Publishes nothing.
--
-- Read holds inside it stay where they are, and the TTL is not cut below theirs. The order
-- of the writes is that of adopt.lua.
local lock, from, to = KEYS[1], ARGV[1] .. ':write', ARGV[2] .. ':write'
local ttl = tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[4]) then
  return {-1, now}
end
local holds = redis.call('HMGET', lock, from, to)
if not holds[1] then
  if not holds[2] then
    return {4, now}
  end
  return {2, now}
end
if redis.call('HLEN', lock) > 2 then
  ttl = math.max(ttl, redis.call('PTTL', lock))
end
redis.call('PEXPIRE', lock, string.format('%.0f', ttl))
redis.call('HSET', lock, to, 1)
redis.call('HDEL', lock, from)
return {1, now}
