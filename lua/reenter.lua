-- Writes how many levels a hold has: one more than before, or the current number.
--
-- KEYS[1]  lock
-- ARGV[1]  hold id
-- ARGV[2]  count: how many levels there are now
-- ARGV[3]  operation number of the hold, higher with each re-entry and inner release
-- ARGV[4]  least TTL that the lock must have now, ms; 0 leaves every TTL as it is
--
-- Returns 3 done; 2 already: this operation or a later one was seen, nothing written;
-- 4 gone: the hold does not exist, nothing written. Publishes nothing.
--
-- The count is written, not incremented, and only with a new operation number: a copy of
-- this call, however late, cannot count twice or restore an old count. HSET is the first
-- write because Redis refuses it at full memory, and a refused level must leave no trace.
-- The TTL only grows here: an inner lease may be shorter than the outer one. With 0,
-- PEXPIRE must not be called at all: it would delete a lock that lost its expiry.
local lock, id, op, ttl = KEYS[1], ARGV[1], ARGV[3], ARGV[4]
local hold = redis.call('HMGET', lock, id, id .. ':n')
if not hold[1] then
  return 4
end
if hold[2] and tonumber(hold[2]) >= tonumber(op) then
  return 2
end
local pttl = redis.call('PTTL', lock)
redis.call('HSET', lock, id, ARGV[2], id .. ':n', op)
if ttl ~= '0' and pttl < tonumber(ttl) then
  redis.call('PEXPIRE', lock, ttl)
end
return 3
