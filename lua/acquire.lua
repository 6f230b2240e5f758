-- Takes a free lock for a hold and mints its fencing token.
--
-- KEYS[1]  lock: hash <hold id> -> count, with an expiry
-- KEYS[2]  token: string, the newest fencing token of the name; absent: none is minted
-- ARGV[1]  hold id, used for this acquisition only
-- ARGV[2]  lease, ms
-- ARGV[3]  not-after, server time in us
-- ARGV[4]  life of an unused token, ms; negative: for ever
--
-- Returns {status, fencing token, PTTL of the lock, server time in us}:
--   -1 late: read after not-after, nothing written
--    0 busy: another holds it, for PTTL ms at most
--    1 held: taken by this call
--    2 already: this hold id has it, by an earlier copy of this call; nothing written
-- Publishes nothing.
--
-- The time is looked at before anything else, so that a copy that lay in a buffer can
-- change nothing. All that may be refused for the data at the keys is read before the
-- first write, since what a script wrote stays when it fails later; the times were checked
-- before they were sent. The first write is HSET, which Redis refuses at full memory: a
-- PEXPIRE or DEL in front would open the gate for it.
local lock, token = KEYS[1], KEYS[2]
local id, lease, fence_ttl = ARGV[1], ARGV[2], tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[3]) then
  return {-1, 0, 0, now}
end
local pttl = redis.call('PTTL', lock)
if pttl ~= -2 then
  local fields
  --!include hash
  if fields[1] == id or fields[3] == id then
    local fence = false
    if token then
      fence = redis.call('GET', token)
    end
    return {2, fence, pttl, now}
  end
  return {0, 0, pttl, now}
end
--!include fence_check
redis.call('HSET', lock, id, 1)
-- The one call after a first write that can fail, where an administrator took the command
-- away from this user. A lock without expiry would be held for ever.
local expires = redis.pcall('PEXPIRE', lock, lease)
if type(expires) ~= 'number' then
  redis.call('DEL', lock)
  return expires
end
--!include fence_mint
return {1, fence, 0, now}
