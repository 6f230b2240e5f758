-- Fragment: renews the lease of one hold of permits.
--
-- In:   leases (its key), id, lease (ms), count, now (the server's time, ms), open (whether a write was accepted)
-- Out:  answer: 1 renewed; 0 gone; -1 the key is no sorted set; -2 refused for another reason
-- Calls: ZSCORE, ZREMRANGEBYSCORE, ZADD.
--
-- Every call is a pcall: one bad key must not cost the others their leases. An expired lease
-- is not revived: its permits count as free. XX creates nothing. A late copy sets the lease
-- from its arrival on, which is no less than the holder relies on, because the lease of a
-- hold is the same each time. The later of two expiries (GT) is not used: after a step back
-- of the server's clock that would be the one from before the step, and the permits of a
-- holder that then dies would be kept for the step plus the lease. ZADD alone is refused at
-- full memory. Removing an empty range changes nothing, but is a first write that Redis
-- accepts, and then it accepts ZADD too.
local answer = 1
local stands = redis.pcall('ZSCORE', leases, id .. '/0')
if type(stands) == 'table' then
  answer = string.find(stands.err, 'WRONGTYPE', 1, true) and -1 or -2
elseif not stands or tonumber(stands) <= math.floor(now) then
  answer = 0
else
  if not open then
    open = type(redis.pcall('ZREMRANGEBYSCORE', leases, 1, 0)) == 'number'
  end
  local expiry = string.format('%.0f', math.ceil(now) + lease)
  for from = 0, count - 1, 500 do
    local members = {}
    for k = from, math.min(from + 500, count) - 1 do
      members[#members + 1] = expiry
      members[#members + 1] = id .. '/' .. k
    end
    if type(redis.pcall('ZADD', leases, 'XX', unpack(members))) ~= 'number' then
      answer = -2
    end
  end
end
