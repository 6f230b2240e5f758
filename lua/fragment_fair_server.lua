-- Fragment: a function that tells which server this is.
--
-- In:   nothing
-- Out:  server(): the id of the running process; '' if that is not to be had
-- Calls: INFO, by pcall: it can be forbidden to this user.
--
-- A message that grants a lock until a time of a server's can be relied on by who knows how
-- late it is by that server's clock. Another one, that has taken over the slot or was
-- promoted, has a clock of its own.
local function server()
  local info = redis.pcall('INFO', 'server')
  return type(info) == 'string' and string.match(info, 'run_id:(%x+)') or ''
end
