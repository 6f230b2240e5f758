-- Takes permits for a hold.
--
-- KEYS[1]  permits: string, how many are free; absent: no capacity was set yet
-- KEYS[2]  leases: sorted set, permit -> the time of its expiry, ms of the server's clock
-- ARGV[1]  hold id, used for this acquisition only; its permits are <hold id>/0, /1, ...
-- ARGV[2]  how many
-- ARGV[3]  lease, ms
-- ARGV[4]  not-after, server time in us
-- ARGV[5]  the capacity, if none is set: Redis may have lost it; 0: it is not known
-- ARGV[6]  channel
-- ARGV[7]  PUBLISH or SPUBLISH
-- ARGV[8]  ms after its last use at which the semaphore expires; 0: it does not
--
-- Returns {status, 0, time in ms, server time in us, 0}, as acquire.lua does:
--   -1 late: read after not-after, nothing written
--    0 busy: not enough are free, and the next lease ends in that time; nothing written but
--      the expiry. The second number is -1 if no capacity was set yet, nor given
--    1 held: taken by this call
--    2 already: this hold id has them, by an earlier copy of this call, for that time
-- or the error HOLDFASTCAPACITY <n> if the capacity is only n, so that there will never be
-- as many. A capacity of zero is a pause, in which callers wait. Publishes how many are
-- left, if some of those come from expired leases, or the capacity was set by this call.
--
-- The free permits and those in the set always add up to the capacity. A permit whose lease
-- has ended is free as well, though still in the set: it is moved when it is needed, with up
-- to 500 others, so that neither one call nor the set has to cope with everything that a
-- crashed program left. Permits are removed by rank, which needs no list. The first write is
-- INCRBY, which Redis refuses at full memory. The two writes after it can be forbidden to
-- this user, and are then undone: otherwise permits would be lost, or created from nothing.
local permits, leases = KEYS[1], KEYS[2]
local id, count = ARGV[1], tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[4]) then
  return {-1, 0, 0, now, 0}
end
local ms = math.floor(now / 1000)
local past = string.format('%.0f', ms)
local stands = redis.call('ZSCORE', leases, id .. '/0')
if stands then
  return {2, 0, math.max(tonumber(stands) - ms, 0), now, 0}
end
local found = redis.call('GET', permits)
local unused = tonumber(ARGV[8])
--!include count_number
local restored = 0
if not found and ARGV[5] ~= '0' then
  restored = tonumber(ARGV[5]) - redis.call('ZCARD', leases)
  number = restored
end
local expired = 0
if number < count then
  expired = redis.call('ZCOUNT', leases, '-inf', past)
end
if number + expired < count then
  --!include permit_unused
  local all = number + redis.call('ZCARD', leases)
  if all > 0 and all < count then
    return redis.error_reply('HOLDFASTCAPACITY ' .. string.format('%.0f', all))
  end
  local first = redis.call('ZRANGEBYSCORE', leases, '(' .. past, '+inf', 'WITHSCORES',
    'LIMIT', 0, 1)
  return {0, (found or ARGV[5] ~= '0') and 0 or -1, first[2] and tonumber(first[2]) - ms or 3600000, now, 0}
end
local moved = math.min(expired, math.max(count - number, 500))
redis.call('INCRBY', permits, string.format('%.0f', restored + moved - count))
if moved > 0 then
  local removed = redis.pcall('ZREMRANGEBYRANK', leases, 0, moved - 1)
  if type(removed) ~= 'number' then
    redis.call('INCRBY', permits, string.format('%.0f', count - moved))
    return removed
  end
end
local expiry = string.format('%.0f', math.ceil(now / 1000) + ARGV[3])
for from = 0, count - 1, 500 do
  local members = {}
  for i = from, math.min(from + 500, count) - 1 do
    members[#members + 1] = expiry
    members[#members + 1] = id .. '/' .. i
  end
  local added = redis.pcall('ZADD', leases, unpack(members))
  if type(added) ~= 'number' then
    redis.call('INCRBY', permits, string.format('%.0f', count))
    return added
  end
end
--!include permit_life
local total = (moved > 0 or not found) and number + moved - count or 0
local channel, kind = ARGV[6], ARGV[7]
--!include count_publish
return {1, 0, 0, now, 0}
