-- Renews one key of a reader's hold: while a slot migrates only scripts of one key are sure
-- to run, so the hold key comes first, then the lock.
--
-- KEYS[1]  hold key 1, or the lock
-- ARGV[1]  TTL that the hold gets, or that the lock must have at least, ms
-- ARGV[2]  hold id, if the key is the lock; or nothing
--
-- Returns {status} as rw_read_renew.lua does for one hold. Publishes nothing.
local key, ttl, id = KEYS[1], ARGV[1], ARGV[2]
if id ~= '' then
  local held = redis.pcall('HEXISTS', key, id)
  if type(held) == 'table' then
    return {string.find(held.err, 'WRONGTYPE', 1, true) and -1 or -2}
  end
  if held == 0 then
    return {0}
  end
end
local left = redis.call('PTTL', key)
if left == -2 then
  return {0}
end
if (id == '' or left < tonumber(ttl)) and type(redis.pcall('PEXPIRE', key, ttl)) ~= 'number' then
  return {-2}
end
return {1}
