-- Reads what the holder of a lock says of itself.
--
-- KEYS[1]  lock
-- KEYS[2]  note
-- ARGV[]   nothing
--
-- Returns {hold id, fencing token, since in us of the server's clock, text}, or {} if no holder said anything. Writes
-- and publishes nothing.
--
-- A note counts for as long as the hold stands that wrote it, so it needs no lease of its own.
local note = redis.call('HMGET', KEYS[2], 'id', 'fence', 'since', 'value')
if not note[1] or not redis.call('HMGET', KEYS[1], note[1])[1] then
  return {}
end
return note
