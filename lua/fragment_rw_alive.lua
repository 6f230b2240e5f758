-- Fragment: does a reader live? A reader is a field, count as its value, and lives while one of
-- its hold keys does, however long others keep the hash.
--
-- In:   lock, size (HLEN), base (what the names of hold keys begin with), but (a field that
--       is not asked about, or nil)
-- Out:  alive: PTTL of a live reader's hold key, 0 if none was found; dead: fields and counts
--       of those who look dead; odd: a field that no lock has was seen
-- Calls: HGETALL or HRANDFIELD; PTTL for each hold key until one lives. Writes nothing.
--
-- It stops at the first live reader. Of a big hash it takes a sample: with thousands of
-- readers, nearly all alive, the first one answers. The number of keys that are asked is
-- bounded: after 64 it stops with the dead that were found, which are to be cleared away
-- before it goes on; and a reader with a count above 1000 counts as alive.
-- A reader that looks dead may live: the hold keys are not among the keys of the call, and while their
-- slot is being moved the node that gets it takes those for absent that did not come yet. Who
-- acts upon it has to name them (rw_write.lua does). The node that gives the slot away says
-- so; there a reader counts as alive, to be asked again in a second.
local alive, dead, odd, asked = 0, {}, false, 0
local sample
if size <= 33 then
  sample = redis.call('HGETALL', lock)
else
  sample = redis.call('HRANDFIELD', lock, 32, 'WITHVALUES')
end
for i = 1, #sample, 2 do
  local reader, count = sample[i], sample[i + 1]
  if reader ~= 'mode' and reader ~= but then
    if not string.find(reader, ':', 1, true) or not string.find(count, '^[1-9]%d*$') then
      odd, alive = true, 1000
    end
    if asked >= 64 and dead[1] then
      break
    end
    local n = tonumber(count) or 0
    if n > 1000 then
      alive = 1000
    end
    while n > 0 and alive == 0 do
      asked = asked + 1
      local left = redis.pcall('PTTL', base .. reader .. ':rwlock_timeout:' .. n)
      if type(left) ~= 'number' or left == -1 then
        alive = 1000
      elseif left >= 0 then
        alive = math.max(left, 1)
      end
      n = n - 1
    end
    if alive ~= 0 then
      break
    end
    dead[#dead + 1], dead[#dead + 2] = reader, count
  end
end
