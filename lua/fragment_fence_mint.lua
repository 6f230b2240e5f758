-- Fragment: mints the fencing token that fragment fence_judge allowed. It comes after a script's first write.
--
-- In:   token, time (the reply of TIME), now, ahead, expiry (see there)
-- Out:  fence: the new token; a string from 2^53 on, because Lua
--       has no integers beyond it
-- Calls: SET, or INCR (then GET from 2^53 on; PEXPIRE or PERSIST if the life changes).
--
-- The clock is written from TIME's own digits: a number that Lua or Redis converts to a string may read 1.79e+15.
-- INCR is used because + 1 is inexact above 2^53.
local fence
if ahead then
  fence = redis.call('INCR', token)
  if fence >= 9007199254740992 then
    fence = redis.call('GET', token)
  end
  if expiry > 0 then
    redis.call('PEXPIRE', token, string.format('%.0f', expiry))
  elseif expiry < 0 then
    redis.call('PERSIST', token)
  end
else
  fence = now
  local text = time[1] .. string.sub('00000' .. time[2], -6)
  if expiry > 0 then
    redis.call('SET', token, text, 'PX', string.format('%.0f', expiry))
  elseif expiry < 0 then
    redis.call('SET', token, text)
  else
    redis.call('SET', token, text, 'KEEPTTL')
  end
end
