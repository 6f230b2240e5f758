-- Ends a hold of a fair lock, whatever count stands, and invites the next; or takes a
-- waiter out of the queue, and if it was invited invites the one after it.
--
-- KEYS[1]  lock
-- KEYS[2]  queue    } as in fair_acquire.lua
-- KEYS[3]  alive    }
-- KEYS[4]  state    }
-- KEYS[5]  list of the threads that wait in Java's fair lock, the first one first
-- KEYS[6]  sorted set of these by the time, in ms, when each gives up
-- ARGV[1]  hold id
-- ARGV[2]  channel of the lock, on which those listen who do not know of the queue
-- ARGV[3]  channel of a client, but for the client
-- ARGV[4]  channel of a thread in Java's fair lock, but for the thread
-- ARGV[5]  PUBLISH or SPUBLISH
-- ARGV[6]  1: tell the time
-- ARGV[7]  step: how far the queue's clock goes on at most, ms
-- ARGV[8]  unused: how long the queue's keys live without a call, ms
-- ARGV[9]  grant: how long an invitation stands, ms
-- ARGV[10] run: how long the lock goes from one to the next without being free, ms
-- ARGV[11] pause: how long it then stays free, ms
-- ARGV[12] 1: PUBLISH does not count the listeners at other nodes
-- ARGV[13], ... ids of waiters that the hold was passed on to: they have no place any more
--
-- Returns {status, receivers, server time in us or 0}:
--   3 done: receivers of the message on the lock's channel; -1: Redis refused to publish
--     to anybody; 0 if the next was invited
--   4 gone: the hold is not there; a place in the queue is taken away silently. If one of
--     those who were served was given the lock instead, that is ended like the hold
-- Publishes '0' to the client of the waiter that it invites, which asks for the lock then,
-- and '0' on the lock's channel and to the first in Java's fair lock where the lock becomes
-- free.
--
-- Between the release and the invitation there is no gap in which another could come in.
-- A run of invitations ends after a while, and if anybody else listens then the lock is
-- free for a moment in which nobody in the queue takes it.
-- Nothing that is wrong with the queue may keep the lock from being released; so it is
-- read by pcall, and if it is no queue the lock is released without.
-- Where neither the lock nor a queue is there, the record goes as well: the last hold was
-- deleted or ran out, and nobody else would take the record away before it expires.
-- The first write is one that Redis accepts at full memory. The places of those who were
-- served go before the next is looked for.
local lock, queue, alive, state = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, publish, step, unused, grant = ARGV[1], ARGV[5], tonumber(ARGV[7]), ARGV[8], ARGV[9]
local now, time = 0, nil
if ARGV[6] == '1' then
  time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end

-- When the hold was gone, a place of one that was served could be invited: nobody comes.
local status, held = 4, false
local standing = redis.call('HMGET', lock, id, unpack(ARGV, 13))
if standing[1] then
  status, held = 3, true
end
for i = 2, #standing do
  if standing[i] then
    id, held = ARGV[11 + i], true
  end
end

-- Tells those who do not know of the queue. In Java's, a waiter that is past its time is not
-- served any more, and the next one not told by them.
local function tell()
  local receivers = redis.pcall(publish, ARGV[2], '0')
  if type(receivers) ~= 'number' then
    receivers = -1
  end
  local threads = redis.pcall('LRANGE', KEYS[5], 0, 9)
  for i = 1, #threads do
    local heard = redis.pcall(publish, ARGV[4] .. threads[i], '0')
    if type(heard) == 'number' then
      receivers = math.max(receivers, 0) + heard
    end
    time = time or redis.call('TIME')
    local till = redis.pcall('ZSCORE', KEYS[6], threads[i])
    if type(till) ~= 'string' or tonumber(till) > time[1] * 1000 then
      break
    end
  end
  return receivers
end

local heads = redis.pcall('ZRANGE', queue, 0, 0)
if not heads[1] then
  if not held then
    if redis.call('EXISTS', lock) == 0 then
      redis.call('DEL', alive, state)
    end
    return {4, 0, now}
  end
  redis.call('DEL', lock, alive, state)
  return {status, tell(), now}
end
local known = redis.pcall('HMGET', state, 'seen', 'clock', 'granted', 'out', 'run')
if known.err or type(redis.pcall('ZCARD', alive)) ~= 'number' then
  local receivers = 0
  if held then
    redis.call('DEL', lock)
    receivers = tell()
  end
  redis.call('ZREM', queue, ARGV[1], unpack(ARGV, 13))
  return {status, receivers, now}
end

time = time or redis.call('TIME')
now = time[1] * 1000000 + time[2]
--!include fair_clock
--!include fair_first
--!include fair_note
local removed = redis.pcall('ZREM', queue, ARGV[1], unpack(ARGV, 13))
local free = false
if not held then
  if removed == 0 then
    return {4, 0, now}
  end
  free = out <= clock and redis.call('EXISTS', lock) == 0
end
local first, dead = nil, 0
if held or free then
  first, dead = search(id, {})
end
local receivers, run, over = 0, tonumber(known[5] or '') or clock, false
if held and first and clock - run >= tonumber(ARGV[10]) then
  receivers, run = tell(), clock
  over = receivers > 0 or ARGV[12] == '1'
end

-- PEXPIRE can be forbidden to this user. Then nobody is invited.
local invites = false
if first and not over then
  if free then
    redis.call('HSET', lock, first, 1000000000)
  end
  invites = type(redis.pcall('PEXPIRE', lock, grant)) == 'number'
end
if invites then
  if held then
    redis.call('HSET', lock, first, 1000000000)
    redis.call('HDEL', lock, id)
  end
  note('granted', first, 'run', string.format('%.0f', run), 'out', '0')
elseif held or free then
  redis.call('DEL', lock)
end
if dead > 0 then
  redis.call('ZREMRANGEBYRANK', queue, 0, dead - 1)
  note('buried', string.format('%.0f', clock))
end
if redis.call('EXISTS', queue) == 0 then
  redis.call('DEL', alive, state)
elseif (held or free) and not invites then
  redis.call('HDEL', state, 'granted', 'lone', 'run')
end
if over then
  note('out', string.format('%.0f', clock + tonumber(ARGV[11])))
end
if first then
  redis.pcall(publish, ARGV[3] .. client_of(first), '0')
end
if held and not invites and not over then
  receivers = tell()
end
return {status, receivers, now}
