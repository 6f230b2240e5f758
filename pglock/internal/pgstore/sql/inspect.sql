-- $1: name
-- returns: the id of the hold, and the rest of its lease in ms (both NULL: the lock is free); the newest token; a
-- client listens for the release
SELECT CASE WHEN until > clock_timestamp() THEN id END,
    CASE WHEN until > clock_timestamp() THEN ceil(extract(epoch FROM
        least(until, clock_timestamp() + interval '100 years') - clock_timestamp()) * 1000)::bigint END,
    fence, wanted > clock_timestamp()
FROM {{table}} WHERE name = $1::text
