-- Fragment: has both keys of a semaphore expire together, some time after this use.
--
-- In:   unused (that time, ms; 0: they are kept), permits and leases (their keys), ms (the server's time)
-- Out:  nothing
-- Calls: ZRANGE, PEXPIRE.
--
-- Not before the last lease in the set ends, of any holder. Both commands go through pcall, since they can be
-- forbidden to this user when permits have been taken already. Where the last lease is not known, the expiry stays.
if unused > 0 then
  local last = redis.pcall('ZRANGE', leases, -1, -1, 'WITHSCORES')
  local life = string.format('%.0f', math.max(unused, last[2] and tonumber(last[2]) - ms or 0))
  if not last.err then
    redis.pcall('PEXPIRE', permits, life)
    redis.pcall('PEXPIRE', leases, life)
  end
end
