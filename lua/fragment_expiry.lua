-- Fragment: does the lock expire?
--
-- In:   pttl (PTTL of the key of a lock)
-- Out:  nothing; or the script ends with a conflict
-- Calls: none.
--
-- Every script that takes a lock sets its expiry. A lock without one was left by another program, possibly one that
-- lost its second call. Waiting for it would never end. Operators see and break it; nothing else touches it, because
-- it may be in use after all.
if pttl == -1 then
  return redis.error_reply('HOLDFASTCONFLICT a lock without expiry is there, which '
    .. 'nobody renews and which never ends: Inspect shows its holder, Break ends it')
end
