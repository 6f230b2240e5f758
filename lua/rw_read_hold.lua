-- Makes the hold key of a reader that is about to take the lock, or that is about to find
-- that it cannot. While a slot migrates only scripts of one key are sure to run: this comes
-- first, then the hash.
--
-- KEYS[1]  hold key 1
-- ARGV[1]  lease, ms
-- ARGV[2]  not-after, server time in us
--
-- Returns {status, server time in us}: -1 late, nothing written; 3 done. Publishes nothing.
--
-- A hold key alone holds nothing. One that is there keeps its operation number, and is only
-- lengthened.
local hold, lease = KEYS[1], ARGV[1]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[2]) then
  return {-1, now}
end
local pttl = redis.call('PTTL', hold)
if pttl == -2 then
  redis.pcall('SET', hold, 0, 'PX', lease)
elseif pttl < tonumber(lease) then
  redis.call('PEXPIRE', hold, lease)
end
return {3, now}
