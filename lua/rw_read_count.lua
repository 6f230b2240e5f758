-- Writes the count of a reader's hold into the lock, after rw_read_number.lua.
--
-- KEYS[1]  lock
-- ARGV[1]  hold id
-- ARGV[2]  count: how many levels there are now
-- ARGV[3]  least TTL that the lock must have now, ms; 0 leaves it as it is
--
-- Returns 3 done; 4 gone: the hold is not there, nothing written. Publishes nothing.
--
-- A copy that comes late may bring back an old count until the next step. It is only looked
-- at: by operators, and by Redisson, which looks for so many hold keys and finds the first
-- among them in any case. The last release removes the hold whatever count stands.
-- The first write is PEXPIRE, because it may be a level that was left.
local lock, id, ttl = KEYS[1], ARGV[1], tonumber(ARGV[3])
if redis.call('HEXISTS', lock, id) == 0 then
  return 4
end
if ttl > 0 then
  ttl = math.max(ttl, redis.call('PTTL', lock))
  redis.call('PEXPIRE', lock, string.format('%.0f', ttl))
end
redis.call('HSET', lock, id, ARGV[2])
return 3
