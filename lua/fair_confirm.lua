-- Makes a grant that a waiter learned of by a message a hold like any other.
--
-- KEYS[1]  lock
-- KEYS[2]  token: string, the newest fencing token of the name
-- KEYS[3]  queue  }
-- KEYS[4]  alive  } as in fair_acquire.lua
-- KEYS[5]  state  }
-- ARGV[1]  hold id: the waiter's
-- ARGV[2]  lease that the lock must have now at least, ms
-- ARGV[3]  fencing token of the grant
-- ARGV[4]  life: how long its client lives from now, ms
-- ARGV[5]  step: how far the queue's clock goes on at most, ms
-- ARGV[6]  keep: how long the queue's keys live without a call, ms
--
-- Returns {status, server time in us, next}:
--   3 done: the hold stands, and has stood since the grant was made. For next see fragment fair_next
--   4 gone: it does not; nothing written
-- Publishes nothing.
--
-- The token tells this grant from a later one to the same waiter, which somebody else may have held the lock before:
-- whoever takes it mints a new one. A second copy of this changes nothing but the lease. PEXPIRE is the first write,
-- which Redis accepts at full memory.
local lock, token, queue, alive, state = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local id, lease, life = ARGV[1], ARGV[2], tonumber(ARGV[4])
local step, keep = tonumber(ARGV[5]), ARGV[6]
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local count = redis.call('HMGET', lock, id)[1]
if not count or redis.call('GET', token) ~= ARGV[3] then
  return {4, now, 0}
end
if redis.call('PTTL', lock) < tonumber(lease) then
  redis.call('PEXPIRE', lock, lease)
end
if count == '1000000000' then
  redis.call('HSET', lock, id, 1)
end
redis.call('ZREM', queue, id)
local known = redis.call('HMGET', state, 'seen', 'clock', 'granted', 'out', 'run', 'buried', 'mine')
--!include fair_clock
--!include fair_note
local client = client_of(id)
--!include fair_next
if redis.call('EXISTS', queue) == 0 then
  redis.call('DEL', alive)
  if known[5] then -- how long the run is stays
    note('granted', id)
    redis.call('PEXPIRE', state, lease)
  else
    redis.call('DEL', state)
  end
  return {3, now, 0}
end
note('granted', id)
local till = redis.call('ZSCORE', alive, client)
if till and tonumber(till) >= clock then
  redis.call('ZADD', alive, string.format('%.0f', clock + life), client)
end
return {3, now, own()}
