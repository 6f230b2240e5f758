-- Fragment: has both keys of a semaphore expire together, after permits were taken.
--
-- In:   unused, permits, leases, ms (as fragment permit_unused)
-- Out:  nothing
-- Calls: PTTL, PEXPIRE, and those of fragment permit_unused.
--
-- Somebody else, or Redisson, can give a semaphore an expiry: then the set gets the same one.
local life = unused == 0 and redis.call('PTTL', permits) or 0
if life > 0 then
  redis.call('PEXPIRE', leases, life)
end
--!include permit_unused
