-- Fragment: may a fencing token be minted, and how? Reads the stored token and leaves the decision to fragment
-- fence_judge.
--
-- In:   token (key), now (us), fence_ttl (ms; negative: for ever)
-- Out:  ahead, expiry, spare: as in fence_judge; or the script ends with a conflict
-- Calls: GET, and those of fence_judge. Writes nothing.
local ahead, expiry, spare = false, 0, 0
local stored = redis.call('GET', token)
--!include fence_judge
