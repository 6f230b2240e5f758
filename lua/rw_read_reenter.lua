-- Writes how many levels a reader's hold has: one more than before, or as many as there are
-- by now.
--
-- KEYS[1]  lock
-- KEYS[2]  hold key 1, whose value is the hold's operation number
-- KEYS[3]  and on: the hold keys of the other levels, the new one's included
-- ARGV[1]  hold id
-- ARGV[2]  count: how many levels there are now
-- ARGV[3]  operation number of the hold, higher with each re-entry and inner release
-- ARGV[4]  least TTL that lock and hold keys must have now, ms; 0 leaves every TTL as it is,
--          and new hold keys get that of the first
--
-- Returns 3 done; 2 already: this operation or a later one was seen, nothing written;
-- 4 gone: the hold is not there, nothing written. Publishes nothing.
--
-- There is a hold key for each level, as Redisson has it, and all live as long as the first,
-- which is the one that counts among us. Those of levels that there are not any more are
-- removed if a step that should have done so was lost.
-- HSET is the first write because Redis refuses it at full memory. The TTLs only grow. With 0,
-- PEXPIRE must not be called at all: it would delete a key that lost its expiry.
local lock, hold, id, op, ttl = KEYS[1], KEYS[2], ARGV[1], ARGV[3], tonumber(ARGV[4])
local old, seen = redis.call('HGET', lock, id), redis.call('GET', hold)
if not old or not seen then
  return 4
end
if (tonumber(seen) or 0) >= tonumber(op) then
  return 2
end
local left = redis.call('PTTL', hold)
local count, longest = tonumber(ARGV[2]), string.format('%.0f', math.max(left, ttl, 1))
local pttl = redis.call('PTTL', lock)
redis.call('HSET', lock, id, ARGV[2])
redis.pcall('SET', hold, op, 'KEEPTTL')
if ttl > 0 and pttl < ttl then
  redis.call('PEXPIRE', lock, ARGV[4])
end
local grows = ttl > 0 and left < ttl
if grows then
  redis.call('PEXPIRE', hold, ARGV[4])
end
for n = 2, count do
  if n > tonumber(old) or grows and redis.call('PEXPIRE', KEYS[n + 1], longest) == 0 then
    redis.pcall('SET', KEYS[n + 1], 1, 'PX', longest)
  end
end
for n = count + 1, tonumber(old) do
  redis.pcall('DEL', string.sub(hold, 1, -2) .. n)
end
return 3
