-- Fragment: does the key hold a number of permits, or a count?
--
-- In:   found: the reply of GET or GETEX
-- Out:  number: 0 if the key is not there; or the script ends with a conflict
-- Calls: nothing. Writes nothing.
--
-- Lua counts fifteen digits exactly, far more than Redisson, which counts in 32 bits. A number below zero is
-- Redisson's way to say that more permits are held than exist.
if found and (#found > 15 or not string.find(found, '^-?%d+$')) then
  return redis.error_reply('HOLDFASTCONFLICT the string is no number of permits')
end
local number = tonumber(found or 0)
