-- Changes the total number of permits by some, or sets it if there is none.
--
-- KEYS[1]  permits
-- KEYS[2]  requests: sorted set, request -> server time (ms) until which it is remembered; one
--          with '!' behind it changed nothing
-- KEYS[3]  leases
-- ARGV[1]  request id
-- ARGV[2]  not-after, server time in us
-- ARGV[3]  until when a copy may come, server time in us
-- ARGV[4]  by how many, below zero for fewer; or the capacity to set
-- ARGV[5]  channel
-- ARGV[6]  PUBLISH or SPUBLISH
-- ARGV[7]  1: change the capacity that was set; 0: set it if none was set
-- ARGV[8]  how many there may be at most
-- ARGV[9]  ms after its last use at which the semaphore expires; 0: it does not
-- ARGV[10]  from here on: times (ms) and ids of requests that are settled
--
-- Returns {status, the capacity now, server time in us}:
--   -1 late: read after not-after, nothing written
--    0 busy: a capacity was set, which is returned; no copy of this call will set one. Or an earlier copy was
--      refused, though the change would be possible by now
--    2 already: done by an earlier copy of this call; nothing written
--    3 done
--    4 gone: no capacity was set that could change; no copy of this call will change one
-- or the error HOLDFASTCAPACITY <n> if there would be less than none or too many, where n is the capacity; then
-- nothing was changed, and no copy will change anything.
-- Publishes how many are free now, if there are any, and otherwise '0' if there are fewer than before: a waiter that
-- asks for more than there are now learns it at once.
--
-- If the capacity changes, the first write is ZADD, which Redis refuses at full memory; otherwise it is GETEX, which
-- Redis accepts.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[2]) then
  return {-1, 0, now}
end
local settled = 10
local marks = redis.call('ZMSCORE', KEYS[2], ARGV[1], ARGV[1] .. '!')
local found = redis.call('GET', KEYS[1])
--!include count_number
local held = redis.call('ZCARD', KEYS[3])
local capacity = number + held
if marks[1] then
  return {2, capacity, now}
end
local by, relative = tonumber(ARGV[4]), ARGV[7] == '1'
local misfit = relative and (capacity + by < 0 or capacity + by > tonumber(ARGV[8]))
if marks[2] or misfit or relative ~= (found and true or false) then
  redis.call('GETEX', KEYS[1])
  --!include request_idle
  if relative and not found then
    return {4, 0, now}
  end
  if misfit then
    return redis.error_reply('HOLDFASTCAPACITY ' .. string.format('%.0f', capacity))
  end
  return {0, found and capacity or 0, now}
end
if not relative then
  by = by - capacity
end
local past = string.format('%.0f', math.floor(now / 1000))
local total = number + by + redis.call('ZCOUNT', KEYS[3], '-inf', past)
--!include request_done
redis.call('INCRBY', KEYS[1], string.format('%.0f', by))
local permits, leases = KEYS[1], KEYS[3]
local unused, ms = tonumber(ARGV[9]), math.floor(now / 1000)
--!include permit_unused
local channel, kind = ARGV[5], ARGV[6]
--!include count_publish
if total <= 0 and by < 0 then
  redis.pcall(kind, channel, '0')
end
return {3, capacity + by, now}
