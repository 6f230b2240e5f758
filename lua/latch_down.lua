-- Counts down by one, or ends the count.
--
-- KEYS[1]  count
-- KEYS[2]  request: string, there once this request was carried out
-- ARGV[1]  1: by one; 0: to the end
-- ARGV[2]  not-after, server time in us
-- ARGV[3]  life of the request key, ms
-- ARGV[4]  channel
-- ARGV[5]  PUBLISH or SPUBLISH
--
-- Returns {status, count that is left, server time in us}:
--   -1 late: read after not-after, nothing written
--    2 already: done by an earlier copy of this call; nothing written
--    3 done; if no count was running, no more than the key of one that ended was removed
-- Publishes '0' when the count is over, after the key is gone.
--
-- GETEX is the first write because Redis accepts it at full memory and because it changes
-- nothing; after it the others are accepted too. Publishing goes through pcall: it can be
-- forbidden to this user, and waiters poll.
local count = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[2]) then
  return {-1, 0, now}
end
local before = redis.call('GET', KEYS[2])
if before then
  return {2, tonumber(before), now}
end
local found = redis.call('GETEX', count)
--!include count_number
if number <= 0 then
  if found then
    redis.call('DEL', count)
  end
  return {3, 0, now}
end
local left = ARGV[1] == '1' and number - 1 or 0
redis.call('PSETEX', KEYS[2], ARGV[3], string.format('%.0f', left))
if left > 0 then
  redis.call('DECRBY', count, 1)
  return {3, left, now}
end
redis.call('DEL', count)
redis.pcall(ARGV[5], ARGV[4], '0')
return {3, 0, now}
