-- Writes how many levels a writer's hold has: one more than before, or as many as there are
-- by now.
--
-- KEYS[1]  lock
-- ARGV[1]  hold id
-- ARGV[2]  count: how many levels there are now
-- ARGV[3]  operation number of the hold, higher with each re-entry and inner release
-- ARGV[4]  least TTL that the lock must have now, ms; 0 leaves every TTL as it is
--
-- Returns 3 done; 2 already: this operation or a later one was seen, nothing written;
-- 4 gone: the hold is not there, nothing written. Publishes nothing.
--
-- The operation number stands in the value, behind the count: Redisson allows no other field,
-- reads the value of no writer but its own, and passes over one that is no number. So it is
-- in the same key as the hold, and ends with it.
-- HSET is the first write because Redis refuses it at full memory. The TTL only grows. With 0,
-- PEXPIRE must not be called at all: it would delete a lock that lost its expiry.
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
if ttl ~= '0' and pttl < tonumber(ttl) then
  redis.call('PEXPIRE', lock, ttl)
end
return 3
