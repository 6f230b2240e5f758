-- Tells who holds one side of a read-write lock, for operators and for diagnosis.
--
-- KEYS[1]  lock
-- KEYS[2]  token: string, the newest fencing token of the name; may be absent
-- ARGV[1]  channel on which waiters listen
-- ARGV[2]  NUMSUB, or SHARDNUMSUB where releases are published by SPUBLISH
-- ARGV[3]  read or write: the side
-- ARGV[4]  what the names of hold keys begin with
--
-- Returns {PTTL of the lock in ms (-2: nobody holds it), fencing token or nil, subscribers
-- of the channel at this node (-1: the server does not tell), {field, value, TTL in ms, ...}
-- of the holders}. Writes and publishes nothing.
--
-- It walks all readers, unlike everything else. A reader lives for as long as the longest
-- of its hold keys, and one that has none is not told of. Where a hold key cannot be asked,
-- because the slot is being moved, the TTL is the lock's.
local lock, token = KEYS[1], KEYS[2]
--!include rw_fence
local pttl, held = redis.call('PTTL', lock), {}
if pttl ~= -2 then
  local mode = redis.call('HGET', lock, 'mode')
  --!include rw_mode
  local fields = redis.call('HGETALL', lock)
  for i = 1, #fields, 2 do
    local field, value, ttl = fields[i], fields[i + 1], pttl
    local side = string.sub(field, -6) == ':write' and 'write' or 'read'
    if field == 'mode' then
      side = ''
    elseif side == 'read' and side == ARGV[3] then
      ttl = -2
      for n = math.min(tonumber(value) or 0, 1000), 1, -1 do
        local left = redis.pcall('PTTL', ARGV[4] .. field .. ':rwlock_timeout:' .. n)
        ttl = math.max(ttl, type(left) == 'number' and left or pttl)
      end
    end
    if side == ARGV[3] and ttl ~= -2 then
      held[#held + 1], held[#held + 2], held[#held + 3] = field, value, ttl
    end
  end
end
local heard = redis.pcall('PUBSUB', ARGV[2], ARGV[1])
local subscribers = -1
if not heard.err then
  subscribers = heard[2]
end
return {pttl, fence, subscribers, held}
