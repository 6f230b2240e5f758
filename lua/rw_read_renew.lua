-- Renews the leases of many readers' holds.
--
-- KEYS[2i-1]   lock
-- KEYS[2i]     hold key 1
-- ARGV[2i-1]   hold id
-- ARGV[2i]     TTL that the hold gets, and that the lock must have at least, ms; the same with
--              every renewal of the hold
--
-- Returns one number per hold: 1 renewed; 0 gone: the hold is not there; -1 conflict: the
-- key of the lock is no hash; -2 Redis refused for another reason. Publishes nothing.
--
-- Holds of one lock that stand together share what is asked of the hash. Every call is a
-- pcall: one bad key must not cost the others their leases. Only PEXPIRE is used, which
-- creates nothing: a hold key that expired was a dead reader's, and stays so.
-- The TTL of the hold is set, and that of the lock is compared: other readers may have longer
-- leases. Where there are no others a longer one is from before a step back of the server's
-- clock, and is set as well: if the readers die then, nobody waits for the step. A late copy
-- sets a TTL from its arrival on, which is no less than the holder relies on. Only readers that
-- live extend the lock.
local answers, many = {}, #KEYS / 2
local from = 1
while from <= many do
  local lock, to, ids = KEYS[2 * from - 1], from - 1, {}
  while KEYS[2 * to + 1] == lock do
    to = to + 1
    ids[#ids + 1] = ARGV[2 * to - 1]
  end
  local counts, left = redis.pcall('HMGET', lock, unpack(ids)), redis.pcall('PTTL', lock)
  local refused = false
  if counts.err then
    refused = string.find(counts.err, 'WRONGTYPE', 1, true) and -1 or -2
  elseif type(left) ~= 'number' then
    refused = -2
  end
  local lives, longest, fields = {}, 0, 1
  for i = from, refused and 0 or to do
    local hold = KEYS[2 * i]
    local life = counts[i - from + 1] and redis.pcall('PTTL', hold) or -2
    if type(life) == 'number' and life ~= -2 then
      longest, fields = math.max(longest, tonumber(ARGV[2 * i])), fields + 1
    end
    lives[i] = life
  end
  if not refused and longest > 0 and left >= 0
    and (left < longest or redis.pcall('HLEN', lock) == fields) then
    local set = redis.pcall('PEXPIRE', lock, string.format('%.0f', longest))
    refused = type(set) ~= 'number' and -2
  end
  for i = from, to do
    local hold, ttl, life, answer = KEYS[2 * i], ARGV[2 * i], lives[i], refused or 1
    if not refused and life == -2 then
      answer = 0
    elseif not refused and type(life) ~= 'number' then
      answer = -2
    elseif not refused and type(redis.pcall('PEXPIRE', hold, ttl)) ~= 'number' then
      answer = -2
    end
    answers[i] = answer
  end
  from = to + 1
end
return answers
