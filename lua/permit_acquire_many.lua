-- Takes a permit of one semaphore for each of several holds: many calls of permit_acquire in one.
--
-- KEYS[1]    permits
-- KEYS[2]    leases
-- ARGV[1]    ms after its last use at which the semaphore expires; 0: it does not
-- ARGV[3i-1] hold id, ARGV[3i] lease, ARGV[3i+1] not-after, all as in permit_acquire.lua. The
--            permit of a hold is <hold id>/0
--
-- Returns the five numbers of permit_acquire.lua for each hold, with another status for those
-- that find no free permit:
--   -9 apart: nothing was written for this hold; permit_acquire looks for expired permits, and
--      tells when one becomes free
-- or the error of a command, after which each call is sent by itself, and finds what was taken
-- for it, if anything. Publishes nothing, because it moves no expired permits.
--
-- What is free goes to the first in the list. A hold that is in it twice is apart the second
-- time. The writes are those of permit_acquire, in the same order, and undone in the same way;
-- each is done once for all.
local permits, leases = KEYS[1], KEYS[2]
local unused = tonumber(ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local ms = math.floor(now / 1000)
local names = {}
for at = 2, #ARGV, 3 do
  names[#names + 1] = ARGV[at] .. '/0'
end
local stands = redis.call('ZMSCORE', leases, unpack(names))
local found = redis.call('GET', permits)
--!include count_number
local answers, taken, members = {}, {}, {}
local count = 0
for i = 1, #names do
  local name, status, left = names[i], -9, 0
  if now > tonumber(ARGV[3 * i + 1]) then
    status = -1
  elseif stands[i] then
    status, left = 2, math.max(tonumber(stands[i]) - ms, 0)
  elseif count < number and not taken[name] then
    status, count, taken[name] = 1, count + 1, true
    members[2 * count - 1] = string.format('%.0f', math.ceil(now / 1000) + ARGV[3 * i])
    members[2 * count] = name
  end
  local answer = {status, 0, left, now, 0}
  for k = 1, 5 do
    answers[#answers + 1] = answer[k]
  end
end
if count > 0 then
  redis.call('INCRBY', permits, -count)
  local added = redis.pcall('ZADD', leases, unpack(members))
  if type(added) ~= 'number' then
    redis.call('INCRBY', permits, count)
    return added
  end
  --!include permit_life
end
return answers
