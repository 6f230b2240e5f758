-- Fragment: is the hash at the key a read-write lock?
--
-- In:   mode (the field of that name of the key, which exists)
-- Out:  nothing; or the script ends with a conflict
-- Calls: none.
--
-- Its mode is what tells it from a reentrant lock and from an application's hash. Whether
-- it expires is fragment expiry's to say.
if mode ~= 'read' and mode ~= 'write' then
  return redis.error_reply('HOLDFASTCONFLICT the hash is no read-write lock')
end
