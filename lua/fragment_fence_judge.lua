-- Fragment: may a fencing token be minted, and how? It comes before a script's first
-- write; fragment fence_mint, after it, does what was decided here and cannot fail.
--
-- In:   token (key), stored (its value; false: there is none), now (us), fence_ttl (ms; negative: for ever),
--       ahead, expiry and spare (declared: false, 0 and 0)
-- Out:  ahead (the stored token is not below the clock), expiry (ms: give the key this
--       life; 0: leave its life as it is; negative: take its expiry away), spare (how many
--       numbers below the new token nobody has had, 1023 at most);
--       or the script ends with a conflict
-- Calls: PTTL once per quarter of fence_ttl. Writes nothing.
--
-- A new token is max(stored + 1, server time in us). So it grows even if the key was lost,
-- and Redisson, which increments the same key, continues from it. The numbers between the
-- stored token and the clock were never minted and never will be: the hold may give them
-- to the turns that follow it, and the token last. That also holds if the stored token
-- came from the clock. If there is none, or one that somebody counted from 1, it is
-- unknown what was minted before, and no number is spare. The value must be one that INCR
-- accepts, and must have a successor: a key that somebody uses for something else must not
-- be overwritten.
--
-- Life of the key. A key without expiry belongs to Java or to a caller that wants it to
-- stay, and never gets one. Otherwise the key must outlive every token by fence_ttl, at
-- the cost of less than one more call per token. So the life is set again, to five
-- quarters of fence_ttl, only when the clock is in another quarter (counted from 1970)
-- than the stored token. That is enough: while tokens come from the clock, the one that
-- last set the life lies in the quarter of the newest, and five quarters after it are at
-- least four after the newest. A token ahead of the clock says nothing about the time of
-- its minting: then the life is set each time, and counts from the token's own value. So
-- when a key expires, the clock has long passed its tokens, and the next token is higher,
-- whatever came between. A longer life, set by a client with a longer fence_ttl, is never
-- cut.
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
      -- A hundred years count as no limit; more would overflow elsewhere.
      wanted = wanted + math.min(3153600000000, math.ceil((value - now) / 1000))
    end
    if life >= 0 and life < wanted then
      expiry = wanted
    end
  end
elseif fence_ttl >= 0 then
  expiry = math.ceil(fence_ttl * 1.25)
end
