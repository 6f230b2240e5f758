-- Takes one level off a writer's hold that keeps others.
--
-- KEYS[1]  lock
-- ARGV[1]  hold id
-- ARGV[2]  count: how many levels are left
-- ARGV[3]  operation number of the hold, higher with each re-entry and inner release
-- ARGV[4]  the longest remaining lease of these levels, ms
--
-- Returns 3 done; 2 already: this operation or a later one was seen, nothing written;
-- 4 gone: the hold is not there, nothing written. Publishes nothing.
--
-- The TTL shrinks to the lease that is left, unless there are read holds inside this one:
-- the lock must outlive them.
-- PEXPIRE is the first write because Redis accepts it at full memory, and after a first
-- write it accepts the HSET too.
local lock, field, op, ttl = KEYS[1], ARGV[1] .. ':write', ARGV[3], tonumber(ARGV[4])
local value = redis.call('HGET', lock, field)
if not value then
  return 4
end
local seen = string.match(value, ':(%d+)$') or 0
if tonumber(seen) >= tonumber(op) then
  return 2
end
if redis.call('HLEN', lock) > 2 then
  ttl = math.max(ttl, redis.call('PTTL', lock))
end
redis.call('PEXPIRE', lock, string.format('%.0f', ttl))
redis.call('HSET', lock, field, ARGV[2] .. ':' .. op)
return 3
