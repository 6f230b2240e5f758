-- Tells the newest fencing token of a name, for a read hold that was taken without it: while
-- a slot migrates only scripts of one key are sure to run.
--
-- KEYS[1]  token: string
-- ARGV[1]  not used
--
-- Returns {fencing token or nil}. Writes and publishes nothing.
local token = KEYS[1]
--!include rw_fence
return {fence}
