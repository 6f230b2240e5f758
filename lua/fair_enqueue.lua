-- Gives waiters of a fair lock their places in the queue.
--
-- KEYS[1]  queue: sorted set, waiters' ids by ticket
-- ARGV[1]  not-after, server time in us
-- ARGV[2]  keep: how long the queue lives without a call, ms
-- ARGV[2i+1], ARGV[2i+2]  id of a waiter, and the ticket that it had before (0: none)
--
-- Returns {status, server time in us, ticket, ticket, ...}:
--   -1 late: read after not-after, nothing written
--    3 done: each of them has its place, the ones behind the others as they were named
-- Publishes nothing.
--
-- A ticket is the server's time in us, or the last one's successor if that is greater. Who
-- has a place keeps it, so a second copy of this changes nothing.
-- It says nothing of whether their client lives: that is done by the one of its waiters
-- that asks for the lock, which so learns whether they were given up meanwhile. One key,
-- so that it works while a slot is being moved. ZADD is the first write, which Redis
-- refuses at full memory.
local queue = KEYS[1]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[1]) then
  return {-1, now}
end
local last = redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')
local next = math.max(now, (tonumber(last[2] or '') or 0) + 1)
local reply, added = {3, now}, {}
for i = 3, #ARGV, 2 do
  local score = redis.call('ZSCORE', queue, ARGV[i])
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
  redis.call('ZADD', queue, unpack(added))
end
redis.call('PEXPIRE', queue, ARGV[2])
return reply
