-- Fragment: does the key hold a lock?
--
-- In:   lock (a key that exists), fields (declared, unset)
-- Out:  fields: field, value; or the script ends with a conflict
-- Calls: HLEN, HGETALL. Writes nothing.
--
-- A lock has one field, holder -> count. The count is a positive integer, and the names
-- of holders contain a colon (ours and Redisson's are <client>:<number>), unlike the
-- 'mode' of a read-write lock and the fields of an application's hash. Fragment expiry
-- checks whether the lock expires. HLEN comes first because HGETALL of an application's
-- big hash would stop the server.
if redis.call('HLEN', lock) > 1 then
  return redis.error_reply('HOLDFASTCONFLICT the hash has too many fields for a lock')
end
fields = redis.call('HGETALL', lock)
if not string.find(fields[1], ':', 1, true) or not string.find(fields[2], '^[1-9]%d*$') then
  return redis.error_reply('HOLDFASTCONFLICT the hash has a field that no lock has')
end
