-- Adds permits, whoever took them, if anybody did.
--
-- KEYS[1]  permits
-- KEYS[2]  request: string, there once this request was carried out
-- ARGV[1]  how many
-- ARGV[2]  not-after, server time in us
-- ARGV[3]  life of the request key, ms
-- ARGV[4]  channel
-- ARGV[5]  PUBLISH or SPUBLISH
-- ARGV[6]  how many there may be at most
--
-- Returns {status, permits that are free now, server time in us}:
--   -1 late: read after not-after, nothing written
--    2 already: done by an earlier copy of this call; nothing written
--    3 done
-- or the error HOLDFASTCAPACITY <n> if there would be too many, n being how many fit.
-- Publishes how many are free now, if there are any.
--
-- GETEX is the first write because Redis accepts it at full memory and because it changes
-- nothing; after it the others are accepted too.
local permits, count = KEYS[1], tonumber(ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[2]) then
  return {-1, 0, now}
end
local before = redis.call('GET', KEYS[2])
if before then
  return {2, tonumber(before), now}
end
local found = redis.call('GETEX', permits)
--!include count_number
local total = number + count
if total > tonumber(ARGV[6]) then
  local fit = math.max(ARGV[6] - number, 0)
  return redis.error_reply('HOLDFASTCAPACITY ' .. string.format('%.0f', fit))
end
redis.call('PSETEX', KEYS[2], ARGV[3], string.format('%.0f', total))
redis.call('INCRBY', permits, ARGV[1])
local channel, kind = ARGV[4], ARGV[5]
--!include count_publish
return {3, total, now}
