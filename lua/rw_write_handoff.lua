-- Passes the lock from one writer to another, with a token and a lease of its own.
--
-- KEYS[1]  lock
-- KEYS[2]  token: string, the newest fencing token of the name; absent: none is minted
-- ARGV[1]  from: hold id that ends
-- ARGV[2]  to: hold id that begins
-- ARGV[3]  lease of the new hold, ms
-- ARGV[4]  not-after, server time in us
-- ARGV[5]  life of an unused token, ms; negative: for ever
--
-- Returns {status, fencing token, server time in us, spare}:
--   -1 late: read after not-after, nothing written
--    2 already: the new hold has the lock, by an earlier copy of this call
--    3 done
--    4 gone: neither hold is there, nothing written
-- Spare is how many numbers right below the token are the new hold's too.
-- or the error HOLDFASTNESTED: read holds inside the one that ends stay, and are in the next
-- one's way; it has to be released. Nothing was written.
-- Publishes nothing: the lock is not free at any time, so there is nobody to wake.
--
-- The order of the writes is that of handoff.lua, for the same reasons.
local lock, token = KEYS[1], KEYS[2]
local from, to = ARGV[1] .. ':write', ARGV[2] .. ':write'
local lease, fence_ttl = ARGV[3], tonumber(ARGV[5])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[4]) then
  return {-1, 0, now, 0}
end
local holds = redis.call('HMGET', lock, from, to)
if not holds[1] then
  if not holds[2] then
    return {4, 0, now, 0}
  end
  local fence = false
  if token then
    fence = redis.call('GET', token)
  end
  return {2, fence, now, 0}
end
if redis.call('HLEN', lock) > 2 then
  return redis.error_reply('HOLDFASTNESTED there are read holds inside')
end
--!include fence_check
redis.call('PEXPIRE', lock, lease)
redis.call('HSET', lock, to, 1)
redis.call('HDEL', lock, from)
--!include fence_mint
return {3, fence, now, spare}
