-- Writes what a holder says of itself beside its lock, or takes it away.
--
-- KEYS[1]  lock
-- KEYS[2]  note: a hash
-- ARGV[1]  hold id
-- ARGV[2]  fencing token of the hold
-- ARGV[3]  ms that the note is kept; 0: take it away
-- ARGV[4]  what it says
--
-- Returns a status:
--   3 done
--   0 busy: the note of a newer token stands there, nothing written
--   4 gone: the hold does not exist, nothing written
-- Publishes nothing.
--
-- A holder that was stopped, and a request that was, come too late for one of two reasons: the hold is gone, or it was
-- passed on in memory under the same id and has a newer token. A copy writes the same again. "since" is when the token
-- was first noted. PEXPIRE comes last, so that it finds the key; a note without expiry would be a small loss.
if not redis.call('HMGET', KEYS[1], ARGV[1])[1] then
  return 4
end
local fence = tonumber(ARGV[2])
local known = redis.call('HMGET', KEYS[2], 'fence', 'since')
local newest = tonumber(known[1] or 0)
if newest > fence then
  return 0
end
if ARGV[3] == '0' then
  redis.call('HDEL', KEYS[2], 'id', 'fence', 'since', 'value')
  return 3
end
local since = known[2]
if newest < fence or not since then
  local time = redis.call('TIME')
  since = string.format('%.0f', time[1] * 1000000 + time[2])
end
redis.call('HSET', KEYS[2], 'id', ARGV[1], 'fence', ARGV[2], 'since', since, 'value', ARGV[4])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 3
