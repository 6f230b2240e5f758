-- Takes one level off a reader's hold that keeps others.
--
-- KEYS[1]  lock
-- KEYS[2]  hold key 1, whose value is the hold's operation number
-- KEYS[3]  and on: the hold keys of the other levels, the one that is left included
-- ARGV[1]  hold id
-- ARGV[2]  count: how many levels are left
-- ARGV[3]  operation number of the hold, higher with each re-entry and inner release
-- ARGV[4]  TTL that the hold keys get: the longest remaining lease of these levels, ms
--
-- Returns 3 done; 2 already: this operation or a later one was seen, nothing written;
-- 4 gone: the hold is not there, nothing written. Publishes nothing.
--
-- The lease of the hold may shrink here, since the level that wanted it longer is the one
-- that ends. The TTL of the lock does so only if nobody else is in: others may need it, and
-- to know that all of them would have to be walked.
-- PEXPIRE is the first write because Redis accepts it at full memory, and after a first
-- write it accepts the rest too.
local lock, hold, id, op, ttl = KEYS[1], KEYS[2], ARGV[1], ARGV[3], ARGV[4]
local old, seen = redis.call('HGET', lock, id), redis.call('GET', hold)
if not old or not seen then
  return 4
end
if (tonumber(seen) or 0) >= tonumber(op) then
  return 2
end
local count = tonumber(ARGV[2])
redis.call('PEXPIRE', hold, ttl)
redis.pcall('SET', hold, op, 'KEEPTTL')
redis.call('HSET', lock, id, ARGV[2])
if redis.call('HLEN', lock) == 2 or redis.call('PTTL', lock) < tonumber(ttl) then
  redis.call('PEXPIRE', lock, ttl)
end
for n = 2, count do
  redis.call('PEXPIRE', KEYS[n + 1], ttl)
end
for n = count + 1, tonumber(old) do
  redis.pcall('DEL', string.sub(hold, 1, -2) .. n)
end
return 3
