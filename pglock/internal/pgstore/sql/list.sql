-- $1: the table's name, $2: a pattern of LIKE, $3: the last name of the page before, $4: how many rows
-- returns: name; id of the hold (NULL: the lock is free); the rest of its lease in ms; the newest token; a client
-- listens for the release; the transactions that have locked the row
WITH {{lockers}}
SELECT name, CASE WHEN until > clock_timestamp() THEN id END,
    CASE WHEN until > clock_timestamp() THEN ceil(extract(epoch FROM
        least(until, clock_timestamp() + interval '100 years') - clock_timestamp()) * 1000)::bigint END,
    fence, wanted > clock_timestamp(), {{locked by}}
FROM {{table}} AS l WHERE name > $3::text AND name LIKE $2::text ORDER BY name LIMIT $4::bigint
