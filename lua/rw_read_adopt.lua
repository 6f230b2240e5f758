-- Gives a reader's hold another id: when it is exported that of its way, and then its
-- importer's. Or makes a hold beside it, for one of several readers that have it together.
--
-- KEYS[1]  lock
-- KEYS[2]  hold key 1 of the old id
-- KEYS[3]  hold key 1 of the new one
-- ARGV[1]  from: the hold's id
-- ARGV[2]  to: its new id
-- ARGV[3]  lease, ms
-- ARGV[4]  not-after, server time in us
-- ARGV[5]  1 if the hold stays, beside the new one; or nothing
--
-- Returns {status, server time in us}:
--   -1 late: read after not-after, nothing written
--    2 already: it has the new id, by an earlier copy of this call
--    1 held: it has the new id, by this call
--    4 gone: neither hold is there, nothing written
-- Publishes nothing.
--
-- The first write is PEXPIRE, which Redis accepts at full memory, and after it the rest. The
-- lease of a hold that stays is not shortened.
local lock, old, new = KEYS[1], KEYS[2], KEYS[3]
local id, lease = ARGV[2], ARGV[3]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[4]) then
  return {-1, now}
end
local holds = redis.call('HMGET', lock, ARGV[1], id)
if holds[2] and redis.call('EXISTS', new) == 1 then
  return {2, now}
end
if not holds[1] or redis.call('EXISTS', old) == 0 then
  return {4, now}
end
local stays = ARGV[5] == '1'
local longest = tonumber(lease)
if stays then
  longest = math.max(redis.call('PTTL', old), longest)
end
redis.call('PEXPIRE', old, string.format('%.0f', longest))
local set = redis.pcall('SET', new, 0, 'PX', lease)
if set.err then
  return set
end
redis.call('HSET', lock, id, 1)
if redis.call('PTTL', lock) < tonumber(lease) then
  redis.call('PEXPIRE', lock, lease)
end
if not stays then
  redis.call('HDEL', lock, ARGV[1])
  redis.call('DEL', old)
end
return {1, now}
