-- Fragment: tells waiters how many permits there are.
--
-- In:   total, channel, kind (PUBLISH or SPUBLISH)
-- Out:  receivers: of the message, as far as this node knows; 0 if there was nothing to
--       tell; -1: not published
-- Calls: PUBLISH or SPUBLISH.
--
-- Redisson wakes as many threads as the number says, fails on a negative one, and reads 32 bits of it. The call goes
-- through pcall: publishing can be forbidden to this user, and waiters poll.
local receivers = 0
if total > 0 then
  local text = string.format('%.0f', math.min(total, 2147483647))
  receivers = redis.pcall(kind, channel, text)
  if type(receivers) ~= 'number' then
    receivers = -1
  end
end
