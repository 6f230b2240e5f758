-- Takes several free locks for one hold each, or none, and mints a fencing token for each.
--
-- KEYS[i]     lock, i from 1 to n
-- KEYS[n+i]   token: string, the newest fencing token of the name
-- ARGV[1]     hold id, used for this acquisition only; the same at every lock
-- ARGV[2]     not-after, server time in us
-- ARGV[3]     life of an unused token, ms; negative: for ever
-- ARGV[3+i]   lease, ms
--
-- Returns {status, which, PTTL of the lock in question, server time in us, and of a lock
-- that is held the n fencing tokens; of busy, 1 if the client of the holder was told that
-- somebody waits, else 0}:
--   -1 late: read after not-after, nothing written
--    0 busy: another holds lock number which, for PTTL ms at most; nothing written
--    1 held: by this call, the last of them at least
--    2 already: by earlier copies of this call; nothing written
-- Publishes what fragment want does.
--
-- All locks and all tokens are checked before the first write, because a write stays when the
-- script fails later. If none of the keys exists, all locks are free, and one call shows that.
-- MGET treats a key of another type as absent, so a token that it does not find is read by
-- GET, which refuses that. A lock that an earlier copy of this call has taken stays as it is:
-- the caller does not use it yet, and counts from when it sent that copy. The first write is
-- HSET, which Redis refuses at full memory.
local id, fence_ttl, n = ARGV[1], tonumber(ARGV[3]), #KEYS / 2
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[2]) then
  return {-1, 0, 0, now}
end
local held, status = {}, 1
if redis.call('EXISTS', unpack(KEYS, 1, n)) > 0 then
  status = 2
  for i = 1, n do
    local lock, fields = KEYS[i], nil
    local pttl = redis.call('PTTL', lock)
    if pttl == -2 then
      status = 1
    else
      --!include hash
      --!include expiry
      if fields[1] ~= id and fields[3] ~= id then
        --!include want
        return {0, i, pttl, now, wanted}
      end
      held[i] = true
    end
  end
end
local aheads, expiries, fences = {}, {}, redis.call('MGET', unpack(KEYS, n + 1, 2 * n))
for i = 1, n do
  local token, ahead, expiry, spare = KEYS[n + i], false, 0, 0
  local stored = fences[i] or redis.call('GET', token)
  if not held[i] then
    --!include fence_judge
    aheads[i], expiries[i] = ahead, expiry
  end
end
for i = 1, n do
  if not held[i] then
    redis.call('HSET', KEYS[i], id, 1)
    local expires = redis.pcall('PEXPIRE', KEYS[i], ARGV[3 + i])
    if type(expires) ~= 'number' then
      for j = 1, i do
        if not held[j] then
          redis.call('HDEL', KEYS[j], id)
        end
      end
      redis.call('PEXPIRE', KEYS[i], ARGV[3 + i])
      return expires
    end
  end
end
local answer = {status, 0, 0, now}
for i = 1, n do
  answer[4 + i] = fences[i]
  if not held[i] then
    local token, ahead, expiry = KEYS[n + i], aheads[i], expiries[i]
    --!include fence_mint
    answer[4 + i] = fence
  end
end
return answer
