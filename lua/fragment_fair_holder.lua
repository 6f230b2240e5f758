-- Fragment: which waiter has the lock, or is invited to take it?
--
-- In:   fields (field and value of a hash that fragment hash approved of)
-- Out:  holder (id), invited (it was granted the lock and has not claimed it yet);
--       both are declared before
-- Calls: nothing.
--
-- An invitation has a count that no hold reaches. It stands in the lock's own hash, so
-- that nothing can be at odds with it, and for everybody else the lock is held.
holder, invited = fields[1], fields[2] == '1000000000'
