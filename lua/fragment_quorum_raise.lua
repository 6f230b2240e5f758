-- Fragment: writes a token that is newer than the stored one.
--
-- In:   token, expiry (see fragment quorum_fence), raise (the new token, as it was sent:
--       a number that Lua makes into a string may read 1.79e+15)
-- Out:  raised: a table with err in it if Redis refused
-- Calls: SET.
local raised
if expiry > 0 then
  raised = redis.pcall('SET', token, raise, 'PX', string.format('%.0f', expiry))
elseif expiry < 0 then
  raised = redis.pcall('SET', token, raise)
else
  raised = redis.pcall('SET', token, raise, 'KEEPTTL')
end
