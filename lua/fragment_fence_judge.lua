-- Fragment: may a fencing token be minted, and how? Stands before a script's first write;
-- fragment fence_mint, after it, does what was decided here and cannot fail.
--
-- In:   token (key), stored (its value; false: there is none), now (us), fence_ttl (ms; negative: for ever),
--       ahead, expiry and spare (declared: false, 0 and 0)
-- Out:  ahead (the stored token is not below the clock), expiry (ms: give the key this
--       life; 0: leave its life as it is; negative: take its expiry away), spare (how many
--       numbers below the new token nobody has had, 1023 at most);
--       or the script ends with a conflict
-- Calls: PTTL once per quarter of fence_ttl. Writes nothing.
--
-- A new token is max(stored + 1, server time in us). So it grows even where the key was
-- lost, and Redisson, which increments the same key, goes on from ours.
-- The numbers between the stored token and the clock were never minted and never will be:
-- the hold may give them to those whom it passes the lock to, and the token last. That is
-- so if the stored one is the clock's as well. Where there is none, or one that somebody
-- began to count from 1, nobody knows what was minted before, and there is none to spare.
-- The value must be one that INCR takes, and that has a successor: a token key that
-- somebody else uses for something else is not ours to overwrite.
--
-- Life of the key. Found without expiry, it is Java's or someone's who wants it for ever,
-- and never gets one. Ours has to outlive every token by fence_ttl, at less than one more
-- call per token: with quarters of fence_ttl counted from 1970, the life is set anew, to
-- five quarters, only when the clock is in another quarter than the stored token. That
-- is enough: while tokens are the clock's, the one that set the life last lies in the
-- quarter of the newest, and five quarters after the one are four after the other.
-- A token ahead of the clock says nothing about the time of its minting: then the life
-- is set each time, and counts from the token's own value. So a key that expired was
-- passed by the clock long before, and the next token is higher, whatever came between.
-- A longer life, of a client with a longer fence_ttl, is never cut.
if fence_ttl < 0 then
  expiry = -1
end
if stored then
  if not string.find(stored, '^%-?[1-9]%d*$') and stored ~= '0' then
    return redis.error_reply('HOLDFASTCONFLICT the fencing token is not an integer')
  end
  if #stored > 19 or (#stored == 19 and stored >= '9223372036854775807') then
    return redis.error_reply('HOLDFASTCONFLICT the fencing token cannot grow any more')
  end
  local value, quarter = tonumber(stored), fence_ttl * 250
  ahead = value >= now
  if not ahead and value * 2 > now then
    spare = math.min(now - value - 1, 1023)
  end
  if fence_ttl >= 0 and (ahead or value - value % quarter ~= now - now % quarter) then
    local life, wanted = redis.call('PTTL', token), math.ceil(fence_ttl * 1.25)
    if ahead then
      -- A hundred years are for ever, and more would overflow elsewhere.
      wanted = wanted + math.min(3153600000000, math.ceil((value - now) / 1000))
    end
    if life >= 0 and life < wanted then
      expiry = wanted
    end
  end
elseif fence_ttl >= 0 then
  expiry = math.ceil(fence_ttl * 1.25)
end
