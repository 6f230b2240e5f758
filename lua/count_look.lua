-- Reads the number at a key.
--
-- KEYS[1]  permits, or count
-- ARGV[]   none
--
-- Returns {0, the number; 0 if the key is not there, 0}: 0 because nothing was written.
-- Writes and publishes nothing.
local found = redis.call('GET', KEYS[1])
--!include count_number
return {0, number, 0}
