-- Renews the leases of many holds.
--
-- KEYS[i]      lock
-- ARGV[2i-1]   hold id
-- ARGV[2i]     lease, ms: the TTL that the lock gets
--
-- Returns one number per key: 1 renewed; 0 gone: the hold does not exist; -1 conflict:
-- the key is no hash; -2 Redis refused for another reason. Publishes nothing.
--
-- Every call is a pcall: one bad key must not cost the others their leases. A hold has the
-- same lease for all its life, so PEXPIRE cannot shorten, and the TTL need not be compared.
-- Only PEXPIRE is used, which creates nothing: a hold that is gone stays gone.
local answers = {}
for i = 1, #KEYS do
  local lock, id, ttl = KEYS[i], ARGV[2 * i - 1], ARGV[2 * i]
  local hold = redis.pcall('HMGET', lock, id)
  local answer = 1
  if hold.err then
    answer = string.find(hold.err, 'WRONGTYPE', 1, true) and -1 or -2
  elseif not hold[1] then
    answer = 0
  elseif type(redis.pcall('PEXPIRE', lock, ttl)) ~= 'number' then
    answer = -2
  end
  answers[i] = answer
end
return answers
