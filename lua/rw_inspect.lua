-- Tells who holds one side of a read-write lock, for operators and for diagnosis.
--
-- KEYS[1]  lock
-- KEYS[2]  token: string, the newest fencing token of the name; may be absent
-- ARGV[1]  channel on which waiters listen
-- ARGV[2]  NUMSUB, or SHARDNUMSUB where releases are published by SPUBLISH
-- ARGV[3]  read or write: the side
-- ARGV[4]  what the names of hold keys begin with
-- ARGV[5]  limit: how many fields are walked at most
--
-- Returns {PTTL of the lock in ms (-1: it never expires; -2: nobody holds it), fencing token
-- or nil, subscribers of the channel at this node (-1: the server does not tell), {field,
-- value, TTL in ms, ...} of the holders, fields that were not walked}.
-- Publishes and writes nothing.
--
-- Of more fields than limit it takes a sample, since the server does nothing else meanwhile.
-- A reader lives for as long as the longest of its hold keys, and one that has none is not
-- told of. Where a hold key cannot be asked, because the slot is being moved, or after four
-- times as many hold keys as limit says, the TTL is the lock's. In a lock that never expires
-- nobody ever dies.
local lock, token, limit = KEYS[1], KEYS[2], tonumber(ARGV[5])
--!include rw_fence
local pttl, held, more, asked = redis.call('PTTL', lock), {}, 0, 0
if pttl ~= -2 then
  local mode = redis.call('HGET', lock, 'mode')
  --!include rw_mode
  local size, fields, sampled = redis.call('HLEN', lock), {}, false
  if ARGV[3] == 'write' and mode ~= 'write' then
    size = 0
  elseif size <= limit + 1 then
    fields = redis.call('HGETALL', lock)
  else
    fields = redis.call('HRANDFIELD', lock, limit, 'WITHVALUES')
    more = size - limit
  end
  for i = 1, #fields, 2 do
    local field, value, ttl = fields[i], fields[i + 1], pttl
    local side = string.sub(field, -6) == ':write' and 'write' or 'read'
    if field == 'mode' then
      side, sampled = '', true
    elseif side == 'read' and side == ARGV[3] then
      local levels = math.min(tonumber(value) or 0, 1000)
      asked = asked + levels
      if pttl == -1 or asked > 4 * limit then
        levels = 0
      else
        ttl = -2
      end
      for n = levels, 1, -1 do
        local left = redis.pcall('PTTL', ARGV[4] .. field .. ':rwlock_timeout:' .. n)
        ttl = math.max(ttl, type(left) == 'number' and left or pttl)
      end
    end
    if side == ARGV[3] and ttl ~= -2 then
      held[#held + 1], held[#held + 2], held[#held + 3] = field, value, ttl
    end
  end
  if more > 0 and not sampled then
    more = more - 1 -- the mode, which is no holder
  end
end
local heard = redis.pcall('PUBSUB', ARGV[2], ARGV[1])
local subscribers = -1
if not heard.err then
  subscribers = heard[2]
end
return {pttl, fence, subscribers, held, more}
