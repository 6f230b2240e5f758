-- Asks whether a latch is open.
--
-- KEYS[1]  count
-- ARGV[]   none
--
-- Returns {status, 0, time in ms, 0}:
--   0 busy: a count is running, for an unknown time
--   1 held: it is open
-- Writes and publishes nothing.
local found = redis.call('GET', KEYS[1])
--!include count_number
if number > 0 then
  return {0, 0, 3600000, 0}
end
return {1, 0, 0, 0}
