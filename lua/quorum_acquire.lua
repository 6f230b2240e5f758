-- Takes a free lock at one of several independent nodes: one vote.
--
-- KEYS[1]  lock: hash <hold id> -> count, with an expiry
-- KEYS[2]  token: string, the newest fencing token of the name at this node
-- ARGV[1]  hold id, of this attempt only
-- ARGV[2]  lease, ms
-- ARGV[3]  not-after, server time in us
-- ARGV[4]  token that the client proposes; 0: none
-- ARGV[5]  how far the proposal may be ahead of this node's clock, us; negative: it is the
--          token of a hold that stands elsewhere, and is taken as it is
-- ARGV[6]  life of an unused token, ms; negative: for ever
-- ARGV[7]  least uptime of a server that may vote, s; 0: it is not looked at
--
-- Returns {status, accepted, token, PTTL of the lock, server time in us, spare}:
--   -2 young: the server has not been up for long enough, nothing written
--   -1 late: read after not-after, nothing written
--    0 busy: another holds it, for PTTL ms at most; nothing written
--    1 held: taken by this call
--    2 already: this hold id has it, by an earlier copy of this call
-- accepted is 1 if this call stored the proposal, or if it is the token of a hold that
-- stands elsewhere and a higher one is stored; then token is the proposal. Otherwise token
-- is the least that this node would accept. Spare is how many numbers right below that
-- token nobody had as far as this node knows, 1023 at most. Publishes nothing.
--
-- A proposal is accepted if it is above the stored token and not behind the clock. So it
-- is above everything that was confirmed here before. It is also above everything that a
-- server that lost its data had confirmed a guard time ago or earlier, because that was
-- not far ahead of the clock either. It is written only while the hold stands: any earlier
-- hold has ended by then. A copy's proposal is not accepted again: the stored token may by
-- then be another hold's, even if it is the same number, which was the reason not to
-- accept the first copy's. The numbers between the stored token and the new one were never
-- issued, and never will be. If none is stored, or one that somebody counts from 1, that
-- is unknown. If the stored token is ahead of the clock, as that of a client with a slower
-- network is for a moment, a few numbers are left free, up to the limit for proposals.
-- They are so few that the clock catches up with the callers that take them, because an
-- acquisition takes longer. Everything that may be refused because of the data at the keys
-- is read before the first write, HSET, which Redis refuses at full memory.
local lock, token, id, fence_ttl = KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[6])
local raise, window = ARGV[4], tonumber(ARGV[5])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[3]) then
  return {-1, 0, 0, 0, now, 0}
end
if ARGV[7] ~= '0' then
  local uptime = string.match(redis.call('INFO', 'server'), 'uptime_in_seconds:(%d+)')
  if not uptime or tonumber(uptime) < tonumber(ARGV[7]) then
    return {-2, 0, 0, 0, now, 0}
  end
end
local pttl, mine = redis.call('PTTL', lock), false
if pttl ~= -2 then
  local fields
  --!include hash
  --!include expiry
  if fields[1] ~= id then
    return {0, 0, 0, pttl, now, 0}
  end
  mine = true
end
--!include quorum_fence
if bad then
  return bad
end
local wish = tonumber(raise)
local newer = wish > stored
local accepted = newer and (window < 0 or (now <= wish and wish <= now + window))
if not mine then
  redis.call('HSET', lock, id, 1)
  -- An administrator may have forbidden a command to this user: a lock without expiry
  -- would be held for ever.
  local expires = redis.pcall('PEXPIRE', lock, ARGV[2])
  if type(expires) ~= 'number' then
    redis.call('HDEL', lock, id)
    redis.call('PEXPIRE', lock, ARGV[2])
    return expires
  end
end
if accepted then
  --!include quorum_raise
  if raised.err then
    if not mine then
      redis.call('HDEL', lock, id)
    end
    return raised
  end
end
local status = 1
if mine then
  status = 2
end
local room = 1
if stored + 64 <= now + window then
  room = 64
end
local least = math.max(stored + room, now)
if accepted or (window < 0 and wish > 0 and not newer) then
  accepted, least = 1, wish
else
  accepted = 0
end
local spare = 0
if stored * 2 > now and least > stored then
  spare = math.min(least - stored - 1, 1023)
end
return {status, accepted, least, pttl, now, spare}
