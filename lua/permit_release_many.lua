-- Gives back the permits of several holds of one semaphore, which have one each: many calls of
-- permit_release in one.
--
-- KEYS[1]    permits
-- KEYS[2]    leases
-- ARGV[1]    channel
-- ARGV[2]    PUBLISH or SPUBLISH
-- ARGV[3]    ms after its last use at which the semaphore expires; 0: it does not
-- ARGV[3+i]  hold id
--
-- Returns the three numbers of permit_release.lua for each hold, with another status for a hold
-- that is in the list for the second time:
--   -9 apart: nothing was written for it by this call
-- Publishes how many are free now, once, if any were given back and there are any. Each hold
-- has the receivers of that message.
--
-- The time is read before the holds are looked up, and ZREM is the first write: see
-- permit_release.
local permits, leases = KEYS[1], KEYS[2]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local ms = math.floor(now / 1000)
local names, seen, given, statuses = {}, {}, {}, {}
for at = 4, #ARGV do
  names[#names + 1] = ARGV[at] .. '/0'
end
local stands = redis.call('ZMSCORE', leases, unpack(names))
for i = 1, #names do
  local name = names[i]
  if seen[name] then
    statuses[i] = -9
  elseif not stands[i] or tonumber(stands[i]) <= ms then
    statuses[i] = 4
  else
    statuses[i], given[#given + 1] = 3, name
  end
  seen[name] = true
end
local total = 0
if #given > 0 then
  local found, unused = redis.call('GET', permits), tonumber(ARGV[3])
  --!include count_number
  total = redis.call('INCRBY', permits, redis.call('ZREM', leases, unpack(given)))
  --!include permit_unused
end
local channel, kind = ARGV[1], ARGV[2]
--!include count_publish
local answers = {}
for i = 1, #names do
  answers[3 * i - 2], answers[3 * i - 1] = statuses[i], statuses[i] == 3 and receivers or 0
  answers[3 * i] = now
end
return answers
