-- Fragment: begins a hold at a key that is free.
--
-- In:   lock, id, lease
-- Out:  nothing; or the script ends with the error of PEXPIRE
-- Calls: HSET, PEXPIRE.
--
-- PEXPIRE is the one call after a first write that can fail, where an administrator took
-- the command away from this user. A lock without expiry would be held for ever, so then
-- there must be none.
redis.call('HSET', lock, id, 1)
local expires = redis.pcall('PEXPIRE', lock, lease)
if type(expires) ~= 'number' then
  redis.call('DEL', lock)
  return expires
end
