-- Writes one more level of a writer's hold.
--
-- KEYS[1]  lock
-- ARGV[1]  hold id
-- ARGV[2]  count: how many levels there are now
-- ARGV[3]  operation number of the hold, higher with each re-entry and inner release
-- ARGV[4]  least TTL that the lock must have now, ms
--
-- Returns 3 done; 2 already: this operation or a later one was seen, nothing written;
-- 4 gone: the hold is not there, nothing written. Publishes nothing.
--
-- The operation number stands in the value, behind the count: Redisson allows no other field,
-- reads the value of no writer but its own, and passes over one that is no number. So it is
-- in the same key as the hold, and ends with it.
-- HSET is the first write because Redis refuses it at full memory. The TTL only grows.
local lock, field, op, ttl = KEYS[1], ARGV[1] .. ':write', ARGV[3], ARGV[4]
local value = redis.call('HGET', lock, field)
if not value then
  return 4
end
local seen = string.match(value, ':(%d+)$') or 0
if tonumber(seen) >= tonumber(op) then
  return 2
end
local pttl = redis.call('PTTL', lock)
redis.call('HSET', lock, field, ARGV[2] .. ':' .. op)
if pttl < tonumber(ttl) then
  redis.call('PEXPIRE', lock, ttl)
end
return 3
