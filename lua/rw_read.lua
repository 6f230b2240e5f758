-- Takes a read-write lock for a reader: together with other readers, or inside the hold of
-- the writer that it comes from.
--
-- KEYS[1]  lock: see rw_write.lua
-- KEYS[2]  hold key 1 of this reader: string, whose expiry is the hold's own lease
-- KEYS[3]  gate: exists while a writer waits for readers to leave
-- KEYS[4]  token: string, the newest fencing token of the name
-- ARGV[1]  hold id, used for this acquisition only
-- ARGV[2]  lease, ms
-- ARGV[3]  not-after, server time in us
-- ARGV[4]  hold id of a writer, which this read hold may be inside; or nothing
-- ARGV[5]  how long a token that is minted here outlives it, ms; negative: for ever
--
-- Returns {status, fencing token, ms to wait at most, server time in us, inside}; inside is 1 if
-- the hold that is there now stands inside that writer's, which has the lock:
--   -1 late: read after not-after, nothing written
--    0 busy: a writer has the lock, or waits for it and was first
--    1 held: taken by this call
--    2 already: this hold id has it, by an earlier copy of this call; nothing written
-- Publishes nothing.
--
-- The fencing token is the stored one, which is not below the last writer's. If there is none,
-- since the name is new or its token was lost, one is minted from the clock as rw_write.lua
-- does, and stored: the next writer's is above it. A hold inside a writer's has that one's
-- token, which its client knows, and mints none.
-- A hold inside a writer's has its own id, as any other: a release that comes late cannot
-- end the next one inside the same writer.
-- A field whose hold key is gone is a dead reader's, also if it bears this id.
-- The first write is HSET, which Redis refuses at full memory. What follows can fail where an
-- administrator took a command away from this user, and then the field goes again: without
-- a hold key it would be dead, without an expiry for ever there.
local lock, hold, gate, token = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, lease, fence_ttl = ARGV[1], ARGV[2], tonumber(ARGV[5])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[3]) then
  return {-1, 0, 0, now, 0}
end
--!include rw_fence
local pttl = redis.call('PTTL', lock)
local mode, inside = false, 0
if pttl ~= -2 then
  local fields = redis.call('HMGET', lock, 'mode', id, ARGV[4] .. ':write')
  mode = fields[1]
  --!include rw_mode
  --!include expiry
  if mode == 'write' and fields[3] then
    inside = 1
  end
  if fields[2] and redis.call('EXISTS', hold) == 1 then
    return {2, fence, pttl, now, inside}
  end
  if mode == 'write' and inside == 0 then
    return {0, 0, pttl, now, 0}
  end
end
if mode ~= 'write' then
  local shut = redis.call('PTTL', gate)
  if shut >= 0 then
    return {0, 0, shut, now, 0}
  end
end
redis.call('HSET', lock, 'mode', mode or 'read', id, 1)
local failed = false
if pttl < tonumber(lease) then
  local expires = redis.pcall('PEXPIRE', lock, lease)
  failed = type(expires) ~= 'number' and expires
end
if not failed and not fence and inside == 0 then
  fence = time[1] .. string.sub('00000' .. time[2], -6)
  local minted
  if fence_ttl < 0 then
    minted = redis.pcall('SET', token, fence)
  else
    minted = redis.pcall('SET', token, fence, 'PX', string.format('%.0f', math.ceil(fence_ttl * 1.25)))
  end
  failed = minted.err and minted
end
if not failed then
  local set = redis.pcall('SET', hold, 0, 'PX', lease)
  failed = set.err and set
end
if failed then
  if mode then
    redis.call('HDEL', lock, id)
  else
    redis.call('DEL', lock)
  end
  return failed
end
return {1, fence, 0, now, inside}
