-- Mints further fencing tokens for a hold whose process has used up those that it was given.
--
-- KEYS[1]  lock
-- KEYS[2]  token: string, the newest fencing token of the name
-- ARGV[1]  hold id
-- ARGV[2]  not-after, server time in us
-- ARGV[3]  life of an unused token, ms; negative: for ever
--
-- Returns {status, fencing token, 0, server time in us, spare}, with spare as in acquire.lua:
--   -1 late: read after not-after, nothing written
--    1 held: the hold has the token now, and the spare ones
--    4 gone: the hold does not exist, nothing written
-- Publishes nothing.
--
-- A copy mints again, and nobody has what it mints: tokens grow all the same. While the hold stands, no other hold has
-- one that is newer.
local lock, token, fence_ttl = KEYS[1], KEYS[2], tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[2]) then
  return {-1, 0, 0, now, 0}
end
if not redis.call('HMGET', lock, ARGV[1])[1] then
  return {4, 0, 0, now, 0}
end
--!include fence_check
--!include fence_mint
return {1, fence, 0, now, spare}
