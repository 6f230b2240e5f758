-- Renews the leases of many writers' holds.
--
-- KEYS[i]      lock
-- ARGV[2i-1]   hold id
-- ARGV[2i]     TTL that the lock gets, or must have at least, ms; the same with every renewal
--              of the hold
--
-- Returns one number per key: 1 renewed; 0 gone: the hold is not there; -1 conflict: the
-- key is no hash; -2 Redis refused for another reason. Publishes nothing.
--
-- Every call is a pcall: one bad key must not cost the others their leases. The TTL is
-- compared: read holds inside may have been given longer leases. Where there are none (two
-- fields, with the mode) a longer one is from before a step back of the server's clock. Only
-- PEXPIRE is used, which creates nothing: a hold that is gone stays gone.
local answers = {}
for i = 1, #KEYS do
  local lock, ttl = KEYS[i], ARGV[2 * i]
  local held = redis.pcall('HEXISTS', lock, ARGV[2 * i - 1] .. ':write')
  local answer = 1
  if type(held) == 'table' then
    answer = string.find(held.err, 'WRONGTYPE', 1, true) and -1 or -2
  elseif held == 0 then
    answer = 0
  elseif redis.call('PTTL', lock) < tonumber(ttl) or redis.pcall('HLEN', lock) == 2 then
    if type(redis.pcall('PEXPIRE', lock, ttl)) ~= 'number' then
      answer = -2
    end
  end
  answers[i] = answer
end
return answers
