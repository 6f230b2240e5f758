-- Fragment: a function that tells who of one client stand next in the queue.
--
-- In:   queue, client (the client), client_of, clock, known[6] (buried), life (ms)
-- Out:  own(): a ticket: those of the client's waiters that have one up to it stand before
--       everybody else's. 0: none does; or one may come back whose client was taken for dead
--       a moment ago, to the place that it had. It looks at the first few hundred
-- Calls: ZRANGE, twice at most. Writes nothing.
--
-- One whose client is taken for dead counts like the living: it may come back to its place.
-- Nobody who comes later gets a ticket below one that stands, so what this says stays
-- true, but for those that come back.
local function own()
  if clock - (tonumber(known[6] or '') or -math.huge) < life then
    return 0
  end
  local ticket, from, size = 0, 0, 4
  while from < 256 do
    local some = redis.call('ZRANGE', queue, from, from + size - 1, 'WITHSCORES')
    for i = 1, #some, 2 do
      if client_of(some[i]) ~= client then
        return ticket
      end
      ticket = tonumber(some[i + 1])
    end
    if #some < 2 * size then
      break
    end
    from, size = from + size, 252
  end
  return ticket
end
