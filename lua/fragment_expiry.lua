-- Fragment: does the lock expire?
--
-- In:   pttl (PTTL of the key, at which a lock stands)
-- Out:  nothing; or the script ends with a conflict
-- Calls: none.
--
-- All that take a lock give it an expiry, so one without is what a program left that had its
-- own way, or lost the second of two calls. Whoever waited for it would wait for ever.
-- Operators see and break it; nobody else touches it, for it may be somebody's after all.
if pttl == -1 then
  return redis.error_reply('HOLDFASTCONFLICT a lock without expiry stands there, which '
    .. 'nobody renews and which never ends by itself: Inspect shows its holder, Break ends it')
end
