-- Passes the lock from one hold to another, with a token and a lease of its own.
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
-- Publishes nothing: the lock is never free, so no waiter needs to wake.
--
-- The key exists all the time. While its slot is being migrated, Redis refuses a command
-- of a script on a key that does not exist; after a DEL the lock would be free, with
-- nobody told. PEXPIRE is the first write because Redis accepts it at full memory, and
-- after a first write it accepts the rest. Everything that may be refused because of the
-- data at the keys is read before it.
local lock, token = KEYS[1], KEYS[2]
local id, lease, fence_ttl = ARGV[2], ARGV[3], tonumber(ARGV[5])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[4]) then
  return {-1, 0, now, 0}
end
local holds = redis.call('HMGET', lock, ARGV[1], id)
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
--!include fence_check
redis.call('PEXPIRE', lock, lease)
redis.call('HSET', lock, id, 1)
redis.call('HDEL', lock, ARGV[1], ARGV[1] .. ':n')
--!include fence_mint
return {3, fence, now, spare}
