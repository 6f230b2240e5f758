-- Makes rows for names that have none, in a transaction of its own before that of the acquisition. If the acquisition
-- made the row, a release that came meanwhile would find none and say that the hold is gone, and the hold would appear
-- afterwards.
--
-- $1: names, in order: two requests that insert the same names in different orders would wait for each other
INSERT INTO {{table}} (name) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING
