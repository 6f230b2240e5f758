-- Gives a hold another id: when it is exported that of its way, and then its importer's. The fencing token stays: for
-- the storage behind the lock it is the same hold, which moved.
--
-- KEYS[1]  lock
-- ARGV[1]  from: the hold's id
-- ARGV[2]  to: its new id
-- ARGV[3]  lease, ms
-- ARGV[4]  not-after, server time in us
--
-- Returns {status, server time in us}:
--   -1 late: read after not-after, nothing written
--    2 already: it has the new id, by an earlier copy of this call
--    1 held: it has the new id, by this call
--    4 gone: neither hold is there, nothing written
-- Publishes nothing.
--
-- The new id makes sure that only one process has the hold: whatever is still sent for it names the old one. An
-- invitation of fair_acquire.lua is no hold: an export that names its id is of one that ended, and tokens were minted
-- since.
--
-- The key exists all the time. While its slot is being migrated, Redis refuses a command of a script on a key that does
-- not exist; after a DEL the lock would be free, with nobody told. PEXPIRE is the first write because Redis accepts it
-- at full memory, and after a first write it accepts the rest.
local lock, id, lease = KEYS[1], ARGV[2], ARGV[3]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[4]) then
  return {-1, now}
end
local holds = redis.call('HMGET', lock, ARGV[1], id)
if not holds[1] or holds[1] == '1000000000' then
  if not holds[2] then
    return {4, now}
  end
  return {2, now}
end
redis.call('PEXPIRE', lock, lease)
redis.call('HSET', lock, id, 1)
redis.call('HDEL', lock, ARGV[1])
return {1, now}
