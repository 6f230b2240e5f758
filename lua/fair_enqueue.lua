-- Gives waiters of a fair lock their places in the queue.
--
-- KEYS[1]  queue: sorted set, waiters' ids by ticket
-- KEYS[2]  alive: sorted set, clients by the time of the queue's clock till which they
--          live
-- KEYS[3]  state: hash, the queue's record (see fragment fair_clock)
-- ARGV[1]  not-after, server time in us
-- ARGV[2]  unused: how long the queue's keys live without a call, ms
-- ARGV[3]  step: how far the queue's clock goes on at most, ms
-- ARGV[4]  life: how long the client lives from now, ms
-- ARGV[5]  how many waiters there are that had no ticket before
-- ARGV[6], ... ids of these, and then of each other one its id and the ticket that it had;
--          all are of one client
--
-- Returns {status, server time in us, lapsed, next, first}, or {..., first, ticket, ...}:
--   -1 late: read after not-after, nothing written; the reply ends after the time
--    3 done: each of them has its place, those that had no ticket behind the others as they
--      were named. Their tickets follow one another, and begin with first; or, if one of
--      them had a place or a ticket, they are all named in the order of the arguments.
--      lapsed: 1 if the client did not live: it never did, all that it had was served, or
--      it was taken for dead, and its other waiters with it. next: see fragment fair_next
-- Publishes nothing.
--
-- A ticket is the server's time in us, or the last one's successor if that is greater. Who
-- has a place keeps it, so a second copy of this changes nothing.
-- From each registration on the client lives: a holder that releases before one of its waiters
-- has asked for the lock must not take them for dead. The sender cannot know whether it lives
-- already: the last of those that have places may be served, and the queue be gone,
-- before this is read. So it always sets the client's life, and says what it found: the
-- sender then registers again every waiter that has a place as far as it knows.
-- ZADD is the first write, which Redis refuses at full memory.
local unused, step, life = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[1]) then
  return {-1, now}
end
local queue, alive, state = KEYS[1], KEYS[2], KEYS[3]
local known = redis.call('HMGET', state, 'seen', 'clock', 'granted', 'out', 'run', 'buried', 'mine')
--!include fair_clock
local client = client_of(ARGV[6])
--!include fair_next
local lapsed, next = 0, 0
local till = redis.call('ZSCORE', alive, client) -- fails if the key is something else
if not till or tonumber(till) < clock then
  lapsed = 1
end
local last = redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')
local first = math.max(now, (tonumber(last[2] or '') or 0) + 1)
local new, places = 5 + ARGV[5], {}
for i = 6, new do
  places[#places + 1] = first + i - 6
  places[#places + 1] = ARGV[i]
end
for i = new + 1, #ARGV, 2 do
  places[#places + 1] = ARGV[i + 1]
  places[#places + 1] = ARGV[i]
end
local added = redis.call('ZADD', queue, 'NX', unpack(places))
comes(last[1])
local reply = {3, now, lapsed, 0, first}
if new < #ARGV or added < #places / 2 then
  for i = 2, #places, 2 do
    reply[#reply + 1] = tonumber(redis.call('ZSCORE', queue, places[i]))
  end
end
redis.call('PEXPIRE', queue, unused)
redis.call('ZADD', alive, string.format('%.0f', clock + life), client)
redis.call('PEXPIRE', alive, unused)
reply[4] = own()
return reply
