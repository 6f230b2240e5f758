-- Fragment: takes a free lock for a hold and mints its fencing token.
--
-- In:   lock, token (key), id, lease (ms), fence_ttl (ms, a number;
--       negative: for ever), time (the reply of TIME), now (us), began (declared)
-- Out:  ends the script, or the function that it stands in, with {status, fencing token,
--       PTTL of the lock, now, spare}; see acquire.lua; or with an error.
--       began is true from the first write on
-- Calls: PTTL; of a lock that exists HLEN and HGETALL, and GET if it is the hold's already,
--        or those of want;
--        else those of fence_check and fence_mint, HSET and PEXPIRE.
--
-- Everything that may be refused because of the data at the keys is read before the first
-- write, because a write stays when the script fails later; the times were checked before
-- they were sent. The first write is HSET, which Redis refuses at full memory; after a
-- PEXPIRE or DEL Redis would accept it.
local pttl = redis.call('PTTL', lock)
if pttl ~= -2 then
  local fields
  --!include hash
  --!include expiry
  if fields[1] == id then
    return {2, redis.call('GET', token), pttl, now, 0}
  end
  --!include want
  return {0, 0, pttl, now, wanted}
end
--!include fence_check
began = true
redis.call('HSET', lock, id, '1')
-- The only call after a first write that can fail: an administrator may have forbidden the
-- command to this user. A lock without expiry would be held for ever, and a user who takes
-- locks need not have the right to DEL. The error that is raised the second time has the
-- line, by which some servers' refusals are understood; that of a pcall has not.
local expires = redis.pcall('PEXPIRE', lock, lease)
if type(expires) ~= 'number' then
  redis.call('HDEL', lock, id)
  redis.call('PEXPIRE', lock, lease)
  return expires
end
--!include fence_mint
return {1, fence, 0, now, spare}
