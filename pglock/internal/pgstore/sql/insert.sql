-- Makes rows for names that have none, in a transaction of its own before that of the acquisition: a release that came
-- beside an acquisition that inserts would find no row, say that the hold is gone, and the hold would appear
-- afterwards.
--
-- $1: names, in order: two that insert the same ones in other orders would wait for each other
INSERT INTO {{table}} (name) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING
