-- Fragment: the queue's record, and the queue's own clock.
--
-- In:   known (reply of HMGET state seen clock granted out run ...), now (us), step (ms)
-- Out:  ms (now, in ms), clock (ms), granted (id, or false), out (ms; 0: none),
--       client_of (function)
-- Calls: nothing.
--
-- The fields of the record:
--   seen, clock  server time of the last call in ms, and what the queue's clock read then
--   granted      the waiter that was invited, or that took the lock, last
--   out          till when nobody in the queue takes the lock, though it is free
--   run          since when it goes from one to the next without being free
--   buried       when waiters were taken away last whose client was taken for dead
--   mine         the client whose waiters all are that stand in the queue (fair_next)
--   lone, ends   who had the lock, and till when, when waiters found it held by somebody who
--                was not invited; it counts while nobody is noted as granted (fair_acquire)
-- Whether a client still lives is judged by a clock that goes on by step at most from one
-- call to the next. A waiter calls more often than that, so in general it keeps pace
-- with the server's. But while the server stands still, or when its time is set, it does
-- not run away, and nobody's life ends at once with everybody else's. It never goes back.
local ms = math.floor(now / 1000)
local clock, granted, out = ms, known[3], tonumber(known[4] or '') or 0
if known[2] then
  local seen = tonumber(known[1] or '') or ms
  clock = (tonumber(known[2]) or ms) + math.max(0, math.min(ms - seen, step))
end
local function client_of(waiter)
  return string.match(waiter, '^(.*):') or waiter
end
