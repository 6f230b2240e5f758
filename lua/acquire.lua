-- Takes a free lock for a hold and mints its fencing token.
--
-- KEYS[1]  lock: hash <hold id> -> count, with an expiry
-- KEYS[2]  token: string, the newest fencing token of the name
-- ARGV[1]  hold id, used for this acquisition only
-- ARGV[2]  lease, ms
-- ARGV[3]  not-after, server time in us
-- ARGV[4]  life of an unused token, ms; negative: for ever
--
-- Returns {status, fencing token, PTTL of the lock, server time in us, spare}:
--   -1 late: read after not-after, nothing written
--    0 busy: another holds it, for PTTL ms at most
--    1 held: taken by this call
--    2 already: this hold id has it, by an earlier copy of this call; nothing written
-- Spare is how many numbers right below the token are this hold's too. With busy it is 1 if
-- the client of the holder was told that somebody waits.
-- Publishes what fragment want does.
--
-- The time is checked before anything else, so that a copy that was delayed in a buffer changes nothing.
local lock, token = KEYS[1], KEYS[2]
local began
local id, lease, fence_ttl = ARGV[1], ARGV[2], tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[3]) then
  return {-1, 0, 0, now, 0}
end
--!include take
