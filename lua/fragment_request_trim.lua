-- Fragment: forgets requests that nobody sends again, and keeps the set as long as the rest
-- need it.
--
-- In:   KEYS[2] requests, with at least one in it; now (us); ARGV[2], ARGV[3] times (us) until
--       which the newest is remembered; settled: from there on ARGV has times (ms) and ids of
--       requests that were answered, so that the time is when the last copy may come
-- Out:  nothing
-- Calls: ZREMRANGEBYSCORE, PTTL; ZADD if any are settled, PEXPIRE now and then.
--
-- The set holds the requests of the last seconds, not of the last minutes: a client's next
-- request says which of those before it were answered. The expiry is for names that are no
-- longer in use. It is set to twice what is needed, so that it must be set only now and then,
-- and to a day at most, whatever the clock did.
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', string.format('(%.0f', math.floor(now / 1000)))
if ARGV[settled] then
  redis.call('ZADD', KEYS[2], 'XX', unpack(ARGV, settled))
end
local needed = math.min((math.max(ARGV[2], ARGV[3]) - now) / 1000 + 1, 43200000)
if redis.call('PTTL', KEYS[2]) < needed then
  redis.call('PEXPIRE', KEYS[2], string.format('%.0f', math.ceil(2 * needed)))
end
