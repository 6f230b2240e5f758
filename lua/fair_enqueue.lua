-- Gives waiters of a fair lock their places in the queue.
--
-- KEYS[1]  queue: sorted set, waiters' ids by ticket
-- KEYS[2]  alive: sorted set, clients by the time of the queue's clock till which they
--          live; only if none of the client's other waiters has a place
-- KEYS[3]  state: hash, the queue's record (see fragment fair_clock); only with KEYS[2]
-- ARGV[1]  not-after, server time in us
-- ARGV[2]  keep: how long the queue's keys live without a call, ms
-- ARGV[3]  step: how far the queue's clock goes on at most, ms
-- ARGV[4]  life: how long the client lives from now, ms
-- ARGV[2i+3], ARGV[2i+4]  id of a waiter, and the ticket that it had before (0: none); all
--          are of one client
--
-- Returns {status, server time in us, ticket, ticket, ...}:
--   -1 late: read after not-after, nothing written
--    3 done: each of them has its place, the ones behind the others as they were named
-- Publishes nothing.
--
-- A ticket is the server's time in us, or the last one's successor if that is greater. Who
-- has a place keeps it, so a second copy of this changes nothing.
-- With the first of its places a client begins to live: whoever releases before one of its
-- waiters has asked for the lock must not take them for dead. Later it is the asking alone
-- that keeps it alive, for the one that asks so learns whether its client was given up
-- meanwhile, and the others with it. Without KEYS[2] the script has one key, so that it
-- works while a slot is being moved. ZADD is the first write, which Redis refuses at full
-- memory.
local keep, step = ARGV[2], tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[1]) then
  return {-1, now}
end
local client, till = nil, nil
if KEYS[2] then
  local known = redis.call('HMGET', KEYS[3], 'seen', 'clock', 'granted', 'out', 'run')
  --!include fair_clock
  redis.call('ZCARD', KEYS[2]) -- fails if it is something else
  client, till = client_of(ARGV[5]), string.format('%.0f', clock + ARGV[4])
end
local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')
local next = math.max(now, (tonumber(last[2] or '') or 0) + 1)
local reply, added = {3, now}, {}
for i = 5, #ARGV, 2 do
  local score = redis.call('ZSCORE', KEYS[1], ARGV[i])
  if not score then
    score = ARGV[i + 1]
    if score == '0' then
      score = string.format('%.0f', next)
      next = next + 1
    end
    added[#added + 1] = score
    added[#added + 1] = ARGV[i]
  end
  reply[#reply + 1] = tonumber(score)
end
if #added > 0 then
  redis.call('ZADD', KEYS[1], unpack(added))
end
redis.call('PEXPIRE', KEYS[1], keep)
if KEYS[2] then
  redis.call('ZADD', KEYS[2], till, client)
  redis.call('PEXPIRE', KEYS[2], keep)
end
return reply
