-- Gives waiters of a fair lock their places in the queue.
--
-- KEYS[1]  queue: sorted set, waiters' ids by ticket
-- KEYS[2]  alive: sorted set, clients by the time of the queue's clock till which they
--          live; none while the slot is being moved
-- KEYS[3]  state: hash, the queue's record (see fragment fair_clock); only with KEYS[2]
-- ARGV[1]  not-after, server time in us
-- ARGV[2]  keep: how long the queue's keys live without a call, ms
-- ARGV[3]  step: how far the queue's clock goes on at most, ms
-- ARGV[4]  life: how long the client lives from now, ms
-- ARGV[2i+3], ARGV[2i+4]  id of a waiter, and the ticket that it had before (0: none); all
--          are of one client
--
-- Returns {status, server time in us, lapsed, next, ticket, ticket, ...}:
--   -1 late: read after not-after, nothing written; the reply ends after the time
--    3 done: each of them has its place, the ones behind the others as they were named.
--      lapsed: 1 if the client did not live: it never did, all that it had was served, or
--      it was taken for dead, and its other waiters with it. next: see fragment fair_next
-- Publishes nothing.
--
-- A ticket is the server's time in us, or the last one's successor if that is greater. Who
-- has a place keeps it, so a second copy of this changes nothing.
-- From each registration on the client lives: whoever releases before one of its waiters has
-- asked for the lock must not take them for dead. The sender cannot know whether it lives
-- already: the last of those that have places may be served, and the queue be gone,
-- before this is read. So it always sets the client's life, and says what it found: the
-- sender then registers again whoever it believes to have a place.
-- Without KEYS[2] the script has one key, so that it works while a slot is being moved. ZADD
-- is the first write, which Redis refuses at full memory.
local keep, step, life = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[1]) then
  return {-1, now}
end
local queue, alive, state = KEYS[1], KEYS[2], KEYS[3]
local known = alive and redis.call('HMGET', state, 'seen', 'clock', 'granted', 'out', 'run', 'buried') or {}
--!include fair_clock
local client = client_of(ARGV[5])
--!include fair_next
local lapsed, next = 0, 0
if alive then
  local till = redis.call('ZSCORE', alive, client) -- fails if the key is something else
  if not till or tonumber(till) < clock then
    lapsed = 1
  end
end
local last = redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')
local ticket = math.max(now, (tonumber(last[2] or '') or 0) + 1)
local tickets, added = {}, {}
for i = 5, #ARGV, 2 do
  local score = redis.call('ZSCORE', queue, ARGV[i])
  if not score then
    score = ARGV[i + 1]
    if score == '0' then
      score = string.format('%.0f', ticket)
      ticket = ticket + 1
    end
    added[#added + 1] = score
    added[#added + 1] = ARGV[i]
  end
  tickets[#tickets + 1] = tonumber(score)
end
if #added > 0 then
  redis.call('ZADD', queue, unpack(added))
end
redis.call('PEXPIRE', queue, keep)
if alive then
  redis.call('ZADD', alive, string.format('%.0f', clock + life), client)
  redis.call('PEXPIRE', alive, keep)
  next = own()
end
return {3, now, lapsed, next, unpack(tickets)}
