-- Ends a hold of each of several locks, and wakes who waits for them.
--
-- KEYS[i]    lock
-- ARGV[1]    PUBLISH or SPUBLISH
-- ARGV[2i]   hold id
-- ARGV[2i+1] channel
--
-- Returns {status, receivers, ...}, two numbers per lock:
--   3 done: receivers of the message, as far as this node knows; -1: not published
--   4 gone: the hold is not there, nothing written or published
-- Publishes '0' for every hold that ended.
--
-- Nothing here can fail once the first lock was deleted: HEXISTS is asked of all before.
local held, answers = {}, {}
for i = 1, #KEYS do
  held[i] = redis.call('HEXISTS', KEYS[i], ARGV[2 * i])
end
for i = 1, #KEYS do
  local status, receivers = 4, 0
  if held[i] == 1 then
    redis.call('DEL', KEYS[i])
    status, receivers = 3, redis.pcall(ARGV[1], ARGV[2 * i + 1], '0')
    if type(receivers) ~= 'number' then
      receivers = -1
    end
  end
  answers[2 * i - 1], answers[2 * i] = status, receivers
end
return answers
