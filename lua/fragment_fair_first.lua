-- Fragment: a function that looks for the first in the queue whose client lives.
--
-- In:   queue, alive, clock, client_of
-- Out:  search(except, judged): except is an id that is passed over, or false; judged says
--       of clients whether they live, as far as it is known. It returns first (an id, or
--       nil), dead (how many stand before it) and more (nobody was found, and not
--       everybody was looked at)
-- Calls: ZRANGE, ZSCORE; once where the first one lives, and else about once per hundred
--        waiters, and once per client that is dead. Writes nothing.
--
-- The dead are removed by the caller, after its first write, by their rank. Of a client
-- that died with very many waiters, a thousand at a time.
local function search(except, judged)
  local dead, more, size = 0, true, 1
  while more and dead < 1000 do
    local some = redis.call('ZRANGE', queue, dead, dead + size - 1)
    more = #some == size
    for i = 1, #some do
      local client = client_of(some[i])
      if judged[client] == nil then
        local till = redis.call('ZSCORE', alive, client)
        judged[client] = till and tonumber(till) >= clock
      end
      if judged[client] and some[i] ~= except then
        return some[i], dead, false
      end
      dead = dead + 1
    end
    size = 100
  end
  return nil, dead, more
end
