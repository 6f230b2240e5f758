-- Fragment: the newest fencing token, for who mints none.
--
-- In:   token (key, or nil)
-- Out:  fence: its value as a string, false if there is none; or the script ends with a
--       conflict
-- Calls: GET. Writes nothing.
local fence = false
if token then
  fence = redis.call('GET', token)
  if fence and (not string.find(fence, '^%-?%d+$') or #fence > 19 or
    #fence == 19 and fence > '9223372036854775807') then
    return redis.error_reply('HOLDFASTCONFLICT the fencing token is not an integer')
  end
end
