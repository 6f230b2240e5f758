-- Carries out one command on a key, unless a newer fencing token was seen there.
--
-- KEYS[1]  the key that is guarded
-- KEYS[2]  the newest token that was seen for it
-- ARGV[1]  fencing token
-- ARGV[2]  ms that the token is kept after this
-- ARGV[3]  the command
-- ARGV[4]  and what follows: its arguments after the key
--
-- Returns {1, what the command returned}, or {0, the newest token as text} if that is newer: nothing was written then.
-- Publishes nothing.
--
-- The comparison and the command are one step, so nothing can come between them. A command that fails has raised the
-- token, which is right: the caller that has it holds the lock.
local token, text = KEYS[2], ARGV[1]
local newest = redis.call('GET', token)
if newest and tonumber(newest) > tonumber(text) then
  return {0, newest}
end
redis.call('SET', token, text, 'PX', ARGV[2])
return {1, redis.call(ARGV[3], KEYS[1], unpack(ARGV, 4))}
