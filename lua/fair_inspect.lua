-- Tells who holds a fair lock and who waits for it, for operators and for diagnosis.
--
-- KEYS[1]  lock
-- KEYS[2]  token: string, the newest fencing token of the name; may be absent
-- KEYS[3]  queue  } as in fair_acquire.lua
-- KEYS[4]  alive  }
-- KEYS[5]  state  }
-- ARGV[1]  channel on which those listen who do not know of the queue
-- ARGV[2]  NUMSUB, or SHARDNUMSUB where releases are published by SPUBLISH
-- ARGV[3]  step: how far the queue's clock goes on at most, ms
-- ARGV[4]  limit: how many waiters are walked at most
--
-- Returns {PTTL in ms (-1: it never expires; -2: nobody holds it), fencing token or nil,
-- subscribers of the channel at this node (-1: the server does not tell), {field, value,
-- ...} of the hash, {id, ticket, ...} of those who wait, the next one first, waiters that
-- were not walked}. One who is invited is a holder whose count is 0. Waiters whose client is
-- taken for dead are left out.
-- Writes and publishes nothing.
local lock, token, queue, alive, state = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local step = tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local pttl = redis.call('PTTL', lock)
local fields, holder, invited = {}, false, false
if pttl ~= -2 then
  --!include hash
  --!include fair_holder
  if invited then
    fields = {holder, '0'}
  end
end
local fence = redis.call('GET', token)
local known = redis.call('HMGET', state, 'seen', 'clock', 'granted', 'out', 'run')
--!include fair_clock
local all, judged, waiters = redis.call('ZRANGE', queue, 0, ARGV[4] - 1, 'WITHSCORES'), {}, {}
local more = redis.call('ZCARD', queue) - #all / 2
for i = 1, #all, 2 do
  local client = client_of(all[i])
  if judged[client] == nil then
    local till = redis.call('ZSCORE', alive, client)
    judged[client] = till and tonumber(till) >= clock
  end
  if judged[client] and all[i] ~= holder then
    waiters[#waiters + 1] = all[i]
    waiters[#waiters + 1] = tonumber(all[i + 1])
  end
end
local heard = redis.pcall('PUBSUB', ARGV[2], ARGV[1])
local subscribers = -1
if not heard.err then
  subscribers = heard[2]
end
return {pttl, fence, subscribers, fields, waiters, more}
