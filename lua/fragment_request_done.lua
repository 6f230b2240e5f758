-- Fragment: remembers that a request was carried out.
--
-- In:   KEYS[2] requests, ARGV[1] request id, ARGV[2] not-after (us), ARGV[3] server time (us)
--       until which a copy may come, now (us), settled (where those ids begin in ARGV)
-- Out:  until_ms: what the request is remembered until
-- Calls: ZADD, and those of request_trim.
--
-- ZADD comes first because Redis refuses it at full memory.
local until_ms = string.format('%.0f', math.ceil(math.max(ARGV[2], ARGV[3]) / 1000))
redis.call('ZADD', KEYS[2], until_ms, ARGV[1])
--!include request_trim
