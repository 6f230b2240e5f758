-- Fragment: functions that tell who of one client stand next in the queue.
--
-- In:   queue, state, client (the client), client_of, clock, known (reply of HMGET state seen
--       clock granted out run buried mine), life (ms)
-- Out:  own(): a ticket: those of the client's waiters that have one up to it stand before
--       everybody else's. 0: none does; or one may come back whose client was taken for dead
--       a moment ago, to the place that it had. It looks at the first few hundred.
--       comes(before): is called where a waiter of the client gets a place; before is who stood
--       last till then, or nil
-- Calls: own: ZREVRANGE; unless mine says that all are the client's, ZRANGE, twice at most,
--        and HSET if they are and there is a record. comes: HDEL, if mine is not true.
--
-- One whose client is taken for dead counts like the living: it may come back to its place.
-- Nobody who comes later gets a ticket below one that stands, so what this says stays
-- true, but for those that come back.
-- A client that is alone asks often, with many waiters in the queue. So the state says in
-- the field mine if all of them are one client's. Another client's waiter takes that back,
-- at whatever place it comes.
local function own()
  if clock - (tonumber(known[6] or '') or -math.huge) < life then
    return 0
  end
  local last = redis.call('ZREVRANGE', queue, 0, 0, 'WITHSCORES')
  if known[7] == client and last[1] and client_of(last[1]) == client then
    return tonumber(last[2])
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
      if known[2] then -- the record is there, and expires
        redis.call('HSET', state, 'mine', client)
      end
      break
    end
    from, size = from + size, 252
  end
  return ticket
end

local function comes(before)
  if known[7] and (known[7] ~= client or before and client_of(before) ~= client) then
    redis.call('HDEL', state, 'mine')
    known[7] = false
  end
end
