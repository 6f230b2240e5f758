-- Fragment: a function that writes the queue's record.
--
-- In:   state, ms, clock, unused (ms)
-- Out:  note(field, value, ...): with these fields besides the clock's
-- Calls: HSET, PEXPIRE.
local function note(...)
  redis.call('HSET', state, 'seen', string.format('%.0f', ms),
    'clock', string.format('%.0f', clock), ...)
  redis.call('PEXPIRE', state, unused)
end
