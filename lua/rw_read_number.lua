-- Notes a step inside a reader's hold in its hold key. While a slot migrates only scripts of
-- one key are sure to run: this comes first, then rw_read_count.lua.
--
-- KEYS[1]  hold key 1, whose value is the hold's operation number
-- ARGV[1]  operation number of the hold, higher with each re-entry and inner release
-- ARGV[2]  TTL, ms: the least it must have after a re-entry, where 0 leaves it as it is, and
--          what it gets after a release
-- ARGV[3]  1 if a level was entered, 0 if one was left
--
-- Returns 3 done; 2 already: this operation or a later one was seen, nothing written;
-- 4 gone: the hold key is not there. Publishes nothing.
--
-- The first write of a re-entry is SET, which Redis refuses at full memory; that of a release
-- is PEXPIRE, which it accepts.
local hold, op, ttl = KEYS[1], ARGV[1], ARGV[2]
local seen = redis.call('GET', hold)
if not seen then
  return 4
end
if (tonumber(seen) or 0) >= tonumber(op) then
  return 2
end
if ARGV[3] == '0' then
  redis.call('PEXPIRE', hold, ttl)
end
local set = redis.pcall('SET', hold, op, 'KEEPTTL')
if set.err then
  return set
end
if ttl ~= '0' and redis.call('PTTL', hold) < tonumber(ttl) then
  redis.call('PEXPIRE', hold, ttl)
end
return 3
