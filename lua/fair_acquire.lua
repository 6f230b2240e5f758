-- Takes a fair lock if it is this waiter's turn, and mints its fencing token. Else it
-- keeps the waiter's place, and its client alive.
--
-- KEYS[1]  lock: hash <hold id> -> count, with an expiry
-- KEYS[2]  token: string, the newest fencing token of the name
-- KEYS[3]  queue: sorted set, waiters' ids by ticket
-- KEYS[4]  alive: sorted set, clients by the time of the queue's clock till which they live
-- KEYS[5]  state: hash, the queue's record (see fragment fair_clock)
-- ARGV[1]  hold id, used for this acquisition only: <client>:<nonce>
-- ARGV[2]  lease, ms
-- ARGV[3]  not-after, server time in us
-- ARGV[4]  life of an unused token, ms; negative: for ever
-- ARGV[5]  ticket that the waiter was given before; 0: none
-- ARGV[6]  1: it waits; 0: it does not, and gets no place
-- ARGV[7]  life: how long its client lives from now, ms
-- ARGV[8]  step: how far the queue's clock goes on at most, ms
-- ARGV[9]  unused: how long the queue's keys live without a call, ms
-- ARGV[10] grant: how long an invitation stands, ms
-- ARGV[11] restore: how long a queue that was lost has to come back, ms
-- ARGV[12] channel of a client, but for the client
-- ARGV[13] PUBLISH or SPUBLISH
--
-- Returns {status, fencing token, wait, server time in us, ticket, lapsed, foreign, spare,
-- next, swapped}:
--   -1 late: read after not-after, nothing written
--    0 busy: it is not its turn, and need not ask for wait ms. ticket: its place (0: none);
--      lapsed: 1 if its client was taken for dead, and its other waiters with it;
--      foreign: 1 if the holder does not know of the queue
--    1 held: taken by this call
--    2 already: this hold id has it, by an earlier copy of this call; nothing written
-- With held, spare is how many numbers right below the token are the hold's too; with busy it is
-- 1 if the client of the holder was told that somebody waits (see fragment want). For next see
-- fragment fair_next. swapped: 1 if another of the client's waiters was invited, and now has
-- the place of the one that came.
-- Publishes '0' to the client of a waiter that it invites, and what fragment want does.
--
-- The lock is this waiter's if its client was invited, or if it is free and nobody who
-- lives stands before it. Who finds it free at another's turn invites that one. Which
-- waiter of a client was invited makes no difference, for the order inside a process is
-- the process's; the one that was then gets the ticket of the one that comes.
-- All that may be refused for the data at the keys is read before the first write. That is
-- HSET or ZADD where somebody comes to something, which Redis refuses at full memory, and
-- PEXPIRE for a waiter that was invited or has a place.
local lock, token, queue, alive, state = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local id, lease, fence_ttl = ARGV[1], ARGV[2], tonumber(ARGV[4])
local ticket, waits, life = tonumber(ARGV[5]), ARGV[6] == '1', tonumber(ARGV[7])
local step, unused, grant, restore = tonumber(ARGV[8]), ARGV[9], ARGV[10], tonumber(ARGV[11])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
if now > tonumber(ARGV[3]) then
  return {-1, 0, 0, now, 0, 0, 0, 0, 0, 0}
end
local wait = redis.call('PTTL', lock)
local holder, invited, fields = false, false, nil
if wait ~= -2 then
  local pttl = wait
  --!include hash
  --!include expiry
  --!include fair_holder
  if holder == id and not invited then
    return {2, redis.call('GET', token), wait, now, 0, 0, 0, 0, 0, 0}
  end
end
local known = redis.call('HMGET', state, 'seen', 'clock', 'granted', 'out', 'run', 'buried', 'mine', 'lone', 'ends')
--!include fair_clock
--!include fair_first
--!include fair_note
local client = client_of(id)
--!include fair_next

-- The place of somebody who has none, or the one that it had.
local function place(score)
  if score then
    return score
  elseif ticket > 0 then
    return ARGV[5]
  end
  local last = redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')
  return string.format('%.0f', math.max(now, (tonumber(last[2] or '') or 0) + 1))
end

-- The lock is id's from here on. Without a queue nothing of it stays, but how long the run
-- is: one who comes and goes must not make it endless. It returns who stands next. While
-- those have their turns nobody need ask, so the client lives from now on; but only if it
-- did, or it would not learn that its waiters were given up.
local function entered(run)
  if redis.call('EXISTS', queue) == 1 then
    note('granted', id)
    local till = redis.call('ZSCORE', alive, client)
    if till and tonumber(till) >= clock then
      redis.call('ZADD', alive, string.format('%.0f', clock + life), client)
    end
    return own()
  end
  redis.call('DEL', alive)
  if run then
    note('granted', id)
    redis.call('PEXPIRE', state, lease)
  else
    redis.call('DEL', state)
  end
  return 0
end

if invited and client_of(holder) == client then
  local score, swapped = redis.call('ZSCORE', queue, id), 0
  --!include fence_check
  redis.call('PEXPIRE', lock, lease)
  redis.call('HSET', lock, id, 1)
  if holder ~= id then
    redis.call('HDEL', lock, holder)
    redis.call('ZADD', queue, 'XX', place(score), holder)
    swapped = 1
  end
  redis.call('ZREM', queue, id)
  local next = entered(known[5])
  --!include fence_mint
  return {1, fence, 0, now, 0, 0, 0, spare, next, swapped}
end

-- An invitation that was not taken up while it stood, or a lease that ran out: until that
-- client is heard of again it is as good as dead. A release says whose turn is next, so if
-- the lock is free and somebody was the last to take it, that one did not release it. One
-- that took it before there was a record may have released it by a script that knows no
-- queue, before the time at which its lease was to end.
local gone, judged = false, {[client] = true}
local last = granted or known[8] and ms >= tonumber(known[9]) and known[8]
if last and last ~= holder and client_of(last) ~= client
    and (not holder or redis.call('ZSCORE', queue, last)) and redis.call('ZSCORE', alive, client_of(last)) then
  gone = last
  judged[client_of(gone)] = false
end

-- Whose turn is it? If the lock is free, and is not kept free.
local first, dead, mine = nil, 0, false
if holder then
  out = 0
elseif out > clock then
  wait = out - clock
elseif ticket > 0 and not known[2] and redis.call('EXISTS', queue) == 0 then
  wait, out = restore, clock + restore
else
  local more
  first, dead, more = search(false, judged)
  mine, wait = not first and not more, 0
end
local score = false
if first or dead > 0 or waits and not mine then
  score = redis.call('ZSCORE', queue, id)
end
if first then
  mine = client_of(first) == client
    or ticket > 0 and not score and ticket < tonumber(redis.call('ZSCORE', queue, first))
end

-- Takes the dead out of the queue, and those who are taken for it.
local function bury()
  if dead > 0 then
    redis.call('ZREMRANGEBYRANK', queue, 0, dead - 1)
    known[6] = string.format('%.0f', clock)
    redis.call('HSET', state, 'buried', known[6])
  end
  if gone then
    redis.call('ZREM', queue, gone)
    redis.call('ZREM', alive, client_of(gone))
  end
end

-- PEXPIRE is the one call after a first write that can fail, where an administrator took
-- the command away from this user. A lock without expiry would be held for ever.
local function give(to, count, ttl)
  redis.call('HSET', lock, to, count)
  local expires = redis.pcall('PEXPIRE', lock, ttl)
  if type(expires) ~= 'number' then
    redis.call('DEL', lock)
    redis.call('PEXPIRE', lock, ttl) -- raises the error, with its line
    return expires
  end
end

if mine then
  --!include fence_check
  local refused = give(id, 1, lease)
  if refused then
    return refused
  end
  bury()
  if score then
    redis.call('ZREM', queue, id)
  end
  local next = 0
  if known[2] or first or dead > 0 then
    redis.call('HDEL', state, 'run', 'out')
    next = entered(false)
  end
  --!include fence_mint
  return {1, fence, 0, now, 0, 0, 0, spare, next, 0}
end

local till = waits and redis.call('ZSCORE', alive, client)
if first then
  local refused = give(first, 1000000000, grant)
  if refused then
    return refused
  end
  note('granted', first, 'run', string.format('%.0f', clock))
  redis.pcall(ARGV[13], ARGV[12] .. client_of(first), '0')
  holder, invited, wait = first, true, tonumber(grant)
end
if first or waits then
  bury()
end
local foreign, told = 0, 0
if holder and not invited and holder ~= granted then
  foreign = 1
  --!include want
  told = wanted
end
if not waits then
  return {0, 0, wait, now, 0, 0, foreign, told, 0, 0}
end
if score then
  redis.call('PEXPIRE', queue, unused)
else
  score = place(false)
  local before = known[7] and redis.call('ZREVRANGE', queue, 0, 0)[1]
  redis.call('ZADD', queue, score, id)
  comes(before)
  redis.call('PEXPIRE', queue, unused)
end
redis.call('ZADD', alive, string.format('%.0f', clock + life), client)
redis.call('ZREMRANGEBYSCORE', alive, '-inf', string.format('(%.0f', clock))
redis.call('PEXPIRE', alive, unused)
if foreign == 1 and not granted then
  note('lone', holder, 'ends', string.format('%.0f', ms + wait))
end
note('out', string.format('%.0f', out))

-- Only whose turn is next has to mind when the lock gets free. The others are told.
local heads = redis.call('ZRANGE', queue, 0, 1)
local next = heads[1] ~= holder and heads[1] or heads[2]
if wait > 0 and next and client_of(next) ~= client then
  wait = math.max(wait, life)
end
local lapsed = 1
if till and tonumber(till) >= clock then
  lapsed = 0
end
return {0, 0, wait, now, tonumber(score), lapsed, foreign, told, 0, 0}
