-- Mints a fencing token for a hold that was taken without one: while a slot migrates,
-- only scripts of one key are sure to run, so the lock is taken first and this follows.
--
-- KEYS[1]  token: string, the newest fencing token of the name
-- ARGV[1]  life of an unused token, ms; negative: for ever
--
-- Returns {fencing token, server time in us}. Publishes nothing.
--
-- There is no not-after: a late copy uses up a number without giving it to a hold, and every number that a later hold
-- gets is above it. The value is checked before it is written.
local token, fence_ttl = KEYS[1], tonumber(ARGV[1])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
--!include fence_check
--!include fence_mint
return {fence, now}
