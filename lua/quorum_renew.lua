-- Renews holds at one of several independent nodes, and raises their fencing tokens there.
--
-- KEYS[2i-1]  lock
-- KEYS[2i]    token
-- ARGV[1]     life of an unused token, ms; negative: for ever
-- ARGV[3i-1]  hold id
-- ARGV[3i]    lease, ms: the TTL that the lock gets
-- ARGV[3i+1]  fencing token of the hold
--
-- Returns one number per hold: 1 renewed, and its token is stored; 0 gone: the hold does
-- not exist; -1 conflict: something else is at a key; -2 Redis refused for another reason.
-- Publishes nothing.
--
-- Its token is written only where the hold stands: elsewhere it would prove nothing,
-- because an earlier hold may still be granted there. Every call is a pcall: one bad key
-- must not cost the others their leases. PEXPIRE comes first, because Redis accepts it at
-- full memory; after it Redis accepts SET too. It creates nothing: a hold that is gone
-- stays gone. A hold has the same lease for all its life, so PEXPIRE cannot shorten.
local fence_ttl = tonumber(ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local answers = {}
for i = 1, #KEYS / 2 do
  local lock, token = KEYS[2 * i - 1], KEYS[2 * i]
  local id, ttl, raise = ARGV[3 * i - 1], ARGV[3 * i], ARGV[3 * i + 1]
  local hold = redis.pcall('HMGET', lock, id)
  local answer = 1
  if hold.err then
    answer = string.find(hold.err, 'WRONGTYPE', 1, true) and -1 or -2
  elseif not hold[1] then
    answer = 0
  else
    --!include quorum_fence
    if bad then
      answer = -1
    elseif type(redis.pcall('PEXPIRE', lock, ttl)) ~= 'number' then
      answer = -2
    end
    if answer == 1 and stored < tonumber(raise) then
      --!include quorum_raise
      if raised.err then
        answer = -2
      end
    end
  end
  answers[i] = answer
end
return answers
