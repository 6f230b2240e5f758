-- Takes each of several locks for a hold of its own: many calls of acquire in one.
--
-- KEYS[2i-1]  lock
-- KEYS[2i]    token
-- ARGV[4i-3]  hold id, ARGV[4i-2] lease, ARGV[4i-1] not-after, ARGV[4i] life of a token,
--             all as in acquire.lua
--
-- Returns the five numbers of acquire.lua for each lock, with another status for those
-- that it cannot answer in numbers:
--   -9 apart: nothing was written for this lock; acquire tells what is the matter
-- Publishes what fragment want does.
--
-- The locks are independent: a failure for one of them is caught, and its writes, if it
-- had begun, are taken back: there was no such key before. Only a command that was
-- forbidden to this user can cause that. A lock that the hold has already, and a token
-- beyond 2^53, are also answered apart. The time is read once, before everything: nothing
-- else runs until the script ends.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local began
local function take(lock, token, id, lease, fence_ttl)
  --!include take
end
local answers = {}
for i = 1, #KEYS, 2 do
  local lock, at = KEYS[i], 2 * i - 1
  local id, answer, ok = ARGV[at], {-1, 0, 0, now, 0}, true
  if now <= tonumber(ARGV[at + 2]) then
    began = false
    ok, answer = pcall(take, lock, KEYS[i + 1], id, ARGV[at + 1], tonumber(ARGV[at + 3]))
    if not ok and began then
      redis.pcall('HDEL', lock, id)
    end
  end
  if not ok or answer.err or answer[1] == 2 or type(answer[2]) ~= 'number' then
    answer = {-9, 0, 0, now, 0}
  end
  for k = 1, 5 do
    answers[#answers + 1] = answer[k]
  end
end
return answers
