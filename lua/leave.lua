-- Takes one level off a hold that keeps others.
--
-- KEYS[1]  lock
-- ARGV[1]  hold id
-- ARGV[2]  count: how many levels are left
-- ARGV[3]  operation number of the hold, higher with each re-entry and inner release
-- ARGV[4]  TTL that the lock gets: the longest remaining lease of these levels, ms
--
-- Returns 3 done; 2 already: this operation or a later one was seen, nothing written;
-- 4 gone: the hold does not exist, nothing written. Publishes nothing.
--
-- The TTL may shrink here, because the level that needed the longer one ends; the
-- operation number keeps a late copy from shortening what came after it. PEXPIRE is the
-- first write because Redis accepts it at full memory, and after a first write it
-- accepts the HSET too.
local lock, id, op = KEYS[1], ARGV[1], ARGV[3]
local hold = redis.call('HMGET', lock, id, id .. ':n')
if not hold[1] then
  return 4
end
if hold[2] and tonumber(hold[2]) >= tonumber(op) then
  return 2
end
redis.call('PEXPIRE', lock, ARGV[4])
redis.call('HSET', lock, id, ARGV[2], id .. ':n', op)
return 3
