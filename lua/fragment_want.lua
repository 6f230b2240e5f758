-- Fragment: tells the client of a lock's holder that somebody waits, if the holder may not need the lock.
--
-- In:   lock, fields (of the hash; see fragment hash)
-- Out:  wanted: 1 if the client was told, else 0
-- Calls: PUBLISH, if the id of the holder has the mark of a grant that may be idle in its
--        process: a K after the client's id and the colon. No other id has one.
--
-- The message is the id and the key, with a space between them, on a channel of the client.
-- It is published by PUBLISH on a cluster too: the channel is in no slot of this node. It may
-- be forbidden to this user: then the lock is free a second after it was taken, at the latest.
local wanted = 0
local client = string.match(fields[1], '^(.+):K[^:]*$')
if client then
  wanted = 1
  redis.pcall('PUBLISH', 'holdfast_wanted:' .. client, fields[1] .. ' ' .. lock)
end
