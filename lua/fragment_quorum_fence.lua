-- Fragment: what is the newest token of the name at this node, and how must a newer one be
-- written? Fragment quorum_raise writes it.
--
-- In:   token (key), now (us), fence_ttl (ms; negative: for ever)
-- Out:  bad (an error reply: what is at the key is no token), stored (0: none), expiry
--       (ms: the key gets this life; 0: its life stays as it is; negative: it has no end)
-- Calls: GET, PTTL. Writes nothing, and fails only by way of bad.
--
-- The life is set again when it is shorter than fence_ttl, to five quarters of it, so a key
-- outlives the newest token by fence_ttl at least. A key without expiry never gets one.
-- Tokens are compared here, and Lua's numbers are exact only up to 2^53.
local bad, stored, expiry = nil, 0, 0
if fence_ttl < 0 then
  expiry = -1
end
local text = redis.pcall('GET', token)
if type(text) == 'table' then
  bad = text
elseif text then
  if not string.find(text, '^%-?[1-9]%d*$') and text ~= '0' then
    bad = redis.error_reply('HOLDFASTCONFLICT the fencing token is not an integer')
  else
    stored = tonumber(text)
    if stored >= 9007199254740991 then
      bad = redis.error_reply('HOLDFASTCONFLICT the fencing token is beyond what a quorum can compare')
    elseif fence_ttl >= 0 then
      local life = redis.call('PTTL', token)
      local ahead = math.max(0, math.ceil((stored - now) / 1000))
      if life >= 0 and life < fence_ttl + ahead then
        expiry = math.ceil(fence_ttl * 1.25) + math.min(ahead, 3153600000000)
      end
    end
  end
elseif fence_ttl >= 0 then
  expiry = math.ceil(fence_ttl * 1.25)
end
