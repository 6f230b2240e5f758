-- Takes a read-write lock for a writer and mints its fencing token. If readers have it, shuts
-- the gate: no reader of ours comes in after that, until the writer was in or is gone.
--
-- KEYS[1]  lock: hash mode -> read or write; <reader> -> count; <writer>:write -> count. It
--          has an expiry
-- KEYS[2]  token: string, the newest fencing token of the name
-- KEYS[3]  gate: string, the hold id of a writer that waits
-- KEYS[4]  and on: the hold keys of the readers in ARGV[7] and on, all of each
-- ARGV[1]  hold id, used for this acquisition only
-- ARGV[2]  lease, ms
-- ARGV[3]  not-after, server time in us
-- ARGV[4]  life of an unused token, ms; negative: for ever
-- ARGV[5]  what the names of hold keys begin with
-- ARGV[6]  life of the gate, ms; 0: nobody is going to wait, and it is not shut
-- ARGV[7]  and on: readers and their counts, who looked dead to an earlier call; may be absent
--
-- Returns {status, fencing token, ms to wait at most, server time in us, readers and counts, spare}:
--   -1 late: read after not-after, nothing written
--    0 busy: a writer has it, or a reader that lives for so long; with readers and counts, no
--      reader seems to live: these looked dead, and are to be named in another call
--    1 held: taken by this call
--    2 already: this hold id has it, by an earlier copy of this call; nothing written
-- Publishes nothing.
--
-- Readers who are named are dead if all their hold keys are gone and their count did not
-- change. The keys being keys of the call, nobody lives unseen in a slot that is being moved:
-- there the call is refused.
-- The first write of an acquisition is HSET, which Redis refuses at full memory. Clearing
-- dead readers away before it would open the gate for it; so they go after it, or when
-- nothing is taken. The gate may be refused there: it is a courtesy.
-- No other field may be added to the hash, Redisson counts them.
local lock, token, gate = KEYS[1], KEYS[2], KEYS[3]
local id, lease, fence_ttl = ARGV[1], ARGV[2], tonumber(ARGV[4])
local field = id .. ':write'
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[3]) then
  return {-1, 0, 0, now, {}, 0}
end
local pttl = redis.call('PTTL', lock)
local gone = {}
if pttl ~= -2 then
  local fields = redis.call('HMGET', lock, 'mode', field)
  local mode = fields[1]
  --!include rw_mode
  --!include expiry
  if fields[2] then
    return {2, redis.call('GET', token), pttl, now, {}, 0}
  end
  if mode == 'write' then
    return {0, 0, pttl, now, {}, 0}
  end
  local size, key = redis.call('HLEN', lock), 4
  for i = 7, #ARGV, 2 do
    local reader, count = ARGV[i], ARGV[i + 1]
    local is_dead = redis.call('HGET', lock, reader) == count
    for _ = 1, tonumber(count) do
      is_dead = redis.call('PTTL', KEYS[key]) == -2 and is_dead
      key = key + 1
    end
    if is_dead then
      gone[#gone + 1] = reader
    end
  end
  if #gone < size - 1 then
    local wait, who = 0, {}
    if not gone[1] then
      local base, but = ARGV[5], nil
      --!include rw_alive
      if odd then
        return redis.error_reply('HOLDFASTCONFLICT the hash has a field that no lock has')
      end
      wait, who = alive, alive == 0 and dead or {}
    end
    if ARGV[6] ~= '0' then
      redis.pcall('SET', gate, id, 'PX', ARGV[6])
    end
    if gone[1] then
      redis.call('HDEL', lock, unpack(gone))
    end
    return {0, 0, wait, now, who, 0}
  end
end
--!include fence_check
redis.call('HSET', lock, 'mode', 'write', field, 1)
if gone[1] then
  redis.call('HDEL', lock, unpack(gone))
end
-- Can fail after a first write, where an administrator took the command away from this
-- user. A lock without expiry would be held for ever.
local expires = redis.pcall('PEXPIRE', lock, lease)
if type(expires) ~= 'number' then
  redis.call('DEL', lock)
  redis.call('PEXPIRE', lock, lease) -- raises the error, with its line
  return expires
end
redis.call('DEL', gate)
--!include fence_mint
return {1, fence, 0, now, {}, spare}
