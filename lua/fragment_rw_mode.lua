-- Fragment: is the hash at the key a read-write lock?
--
-- In:   pttl (PTTL of the key, which exists), mode (its field of that name)
-- Out:  nothing; or the script ends with a conflict
-- Calls: none.
--
-- A lock has an expiry, always: a hash without one would be "held" for ever. Its mode is
-- what tells it from a reentrant lock and from an application's hash.
if mode ~= 'read' and mode ~= 'write' then
  return redis.error_reply('HOLDFASTCONFLICT the hash is no read-write lock')
end
if pttl == -1 then
  return redis.error_reply('HOLDFASTCONFLICT the key has no expiry')
end
