-- Ends a hold of each of several locks, and wakes their waiters: many calls of release in one, of one caller that
-- releases all of them or of many callers.
--
-- KEYS[i]     lock
-- ARGV[1]     PUBLISH or SPUBLISH
-- ARGV[2i]    hold id
-- ARGV[2i+1]  channel
--
-- Returns the three numbers of release.lua for each lock, without the time, or
--   -9 apart: nothing was written for this lock; release gives the reason
-- Publishes '0' for every hold that ended.
local answers = {}
for i = 1, #KEYS do
  local id = ARGV[2 * i]
  local found, receivers = redis.pcall('HDEL', KEYS[i], id), 0
  local status = 3
  if type(found) ~= 'number' then
    status = -9
  elseif found == 0 then
    status = 4
  else
    receivers = redis.pcall(ARGV[1], ARGV[2 * i + 1], '0')
    if type(receivers) ~= 'number' then
      receivers = -1
    end
  end
  answers[3 * i - 2], answers[3 * i - 1], answers[3 * i] = status, receivers, 0
end
return answers
