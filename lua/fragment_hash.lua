-- Fragment: does the key hold a lock?
--
-- In:   lock (a key that exists), fields (declared, unset)
-- Out:  fields: field, value, field, value; or the script ends with a conflict
-- Calls: HLEN, HGETALL. Writes nothing.
--
-- A lock has one field, holder -> count, or two; the second is the hold's operation
-- number, whose name is the holder's followed by ':n'. Every value is a positive
-- integer, and the names of holders contain a colon (ours and Redisson's are
-- <client>:<number>), unlike the 'mode' of a read-write lock and the fields of an
-- application's hash. Fragment expiry checks whether the lock expires. HLEN comes first
-- because HGETALL of an application's big hash would stop the server.
if redis.call('HLEN', lock) > 2 then
  return redis.error_reply('HOLDFASTCONFLICT the hash has too many fields for a lock')
end
fields = redis.call('HGETALL', lock)
for i = 1, #fields, 2 do
  if not string.find(fields[i], ':', 1, true) or not string.find(fields[i + 1], '^[1-9]%d*$') then
    return redis.error_reply('HOLDFASTCONFLICT the hash has a field that no lock has')
  end
end
if fields[3] and fields[1] ~= fields[3] .. ':n' and fields[3] ~= fields[1] .. ':n' then
  return redis.error_reply('HOLDFASTCONFLICT the hash has two holders')
end
