-- $1: the table's name, $2: name
-- returns: the id of the hold, and the rest of its lease in ms (both NULL: the lock is free); the newest token; a
-- client listens for the release; the transactions that have locked the row
WITH {{lockers}}
SELECT CASE WHEN until > clock_timestamp() THEN id END,
    CASE WHEN until > clock_timestamp() THEN ceil(extract(epoch FROM
        least(until, clock_timestamp() + interval '100 years') - clock_timestamp()) * 1000)::bigint END,
    fence, wanted > clock_timestamp(), {{locked by}}
FROM {{table}} AS l WHERE name = $2::text
