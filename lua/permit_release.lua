-- Gives back the permits of a hold.
--
-- KEYS[1]  permits
-- KEYS[2]  leases
-- ARGV[1]  hold id; or a permit, if ARGV[2] is -1
-- ARGV[2]  how many it has; 0: not known
-- ARGV[3]  channel
-- ARGV[4]  PUBLISH or SPUBLISH
-- ARGV[5]  ms after its last use at which the semaphore expires; 0: it does not
--
-- Returns {status, receivers, server time in us}:
--   3 done: receivers of the message, as far as this node knows; -1: not published
--   4 gone: the hold does not exist, or its lease has ended; nothing written or published
-- Publishes how many are free now, if there are any.
--
-- After the end of the lease nothing is given back here: the permits are free already,
-- and the next caller that needs them moves them. So a late or repeated release changes
-- nothing. The first permit stands for all. They have the same expiry, and among those it
-- comes first in the set, so a script that collects expired permits takes no other one
-- before it. The time is read before the hold is looked up: "not there, at this time"
-- then proves that an acquisition whose not-after is before it will never take any. ZREM
-- is the first write because Redis accepts it at full memory, and after a first write it
-- accepts the INCRBY too.
local permits, leases = KEYS[1], KEYS[2]
local id, count = ARGV[1], tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local stands = redis.call('ZSCORE', leases, count < 0 and id or id .. '/0')
if not stands or tonumber(stands) <= math.floor(now / 1000) then
  return {4, 0, now}
end
local found = redis.call('GET', permits)
--!include count_number
local removed = 0
if count < 0 then
  removed = redis.call('ZREM', leases, id)
else
  local most = count > 0 and count or 1000000
  for from = 0, most - 1, 500 do
    local members = {}
    for i = from, math.min(from + 500, most) - 1 do
      members[#members + 1] = id .. '/' .. i
    end
    local gone = redis.call('ZREM', leases, unpack(members))
    removed = removed + gone
    if gone < #members then
      break
    end
  end
end
local total = redis.call('INCRBY', permits, removed)
local unused, ms = tonumber(ARGV[5]), math.floor(now / 1000)
--!include permit_unused
local channel, kind = ARGV[3], ARGV[4]
--!include count_publish
return {3, receivers, now}
