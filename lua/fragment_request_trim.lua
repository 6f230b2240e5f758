-- Fragment: forgets requests that nobody sends again, and has the set live as long as the rest.
--
-- In:   KEYS[2] requests, with at least one in it; now (us); ARGV[2], ARGV[3] times (us) until
--       which the newest is remembered; settled: from there on ARGV has times (ms) and ids of
--       requests that were answered, so that the time is when the last copy may come
-- Out:  nothing
-- Calls: ZREMRANGEBYSCORE, PTTL; ZADD if any are settled, PEXPIRE now and then.
--
-- The set is as great as what was asked in the last seconds, and not in the last minutes:
-- the next request of a client tells which of those before it were answered. The expiry is
-- for names that nobody uses any more; it is set to twice what is needed, so that it has to
-- be set only now and then, and to a day at most, whatever the clock did.
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', string.format('(%.0f', math.floor(now / 1000)))
if ARGV[settled] then
  redis.call('ZADD', KEYS[2], 'XX', unpack(ARGV, settled))
end
local needed = math.min((math.max(ARGV[2], ARGV[3]) - now) / 1000 + 1, 43200000)
if redis.call('PTTL', KEYS[2]) < needed then
  redis.call('PEXPIRE', KEYS[2], string.format('%.0f', math.ceil(2 * needed)))
end
