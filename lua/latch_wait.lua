-- Asks whether a latch is open.
--
-- KEYS[1]  count
-- ARGV[]   none
--
-- Returns {status, 0, time in ms, 0}:
--   0 busy: a count is running, until its expiry or for an unknown time
--   1 held: it is open
-- Writes and publishes nothing.
local found = redis.call('GET', KEYS[1])
--!include count_number
if number > 0 then
  local life = redis.call('PTTL', KEYS[1])
  return {0, 0, life >= 0 and life + 1 or 3600000, 0}
end
return {1, 0, 0, 0}
