-- Renews the leases of many holds.
--
-- KEYS[i]      lock
-- ARGV[2i-1]   hold id
-- ARGV[2i]     TTL that the lock must have now at least, ms
--
-- Returns one number per key: 1 renewed; 0 gone: the hold does not exist; -1 conflict:
-- the key is no hash; -2 Redis refused for another reason. Publishes nothing.
--
-- Every call is a pcall: one bad key must not cost the others their leases. A hold that
-- never nested has no operation number, and the same lease for all its life: there
-- PEXPIRE cannot shorten, and one call less per hold saves a third of the work. A nested
-- one may have been given a longer inner lease since this was sent, so its TTL is
-- compared. Only PEXPIRE is used, which creates nothing: a hold that is gone stays gone.
local answers = {}
for i = 1, #KEYS do
  local lock, id, ttl = KEYS[i], ARGV[2 * i - 1], ARGV[2 * i]
  local hold = redis.pcall('HMGET', lock, id, id .. ':n')
  local answer = 1
  if hold.err then
    answer = string.find(hold.err, 'WRONGTYPE', 1, true) and -1 or -2
  elseif not hold[1] then
    answer = 0
  elseif not hold[2] or redis.call('PTTL', lock) < tonumber(ttl) then
    if type(redis.pcall('PEXPIRE', lock, ttl)) ~= 'number' then
      answer = -2
    end
  end
  answers[i] = answer
end
return answers
