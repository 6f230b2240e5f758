-- $1: a pattern of LIKE, $2: the last name of the page before, $3: how many rows
-- returns: name; id of the hold (NULL: the lock is free); the rest of its lease in ms; the newest token; a client
-- listens for the release
SELECT name, CASE WHEN until > clock_timestamp() THEN coalesce(id, '') END,
    CASE WHEN until > clock_timestamp() THEN ceil(extract(epoch FROM
        least(until, clock_timestamp() + interval '100 years') - clock_timestamp()) * 1000)::bigint END,
    fence, wanted > clock_timestamp()
FROM {{table}} WHERE name > $2::text AND name LIKE $1::text ORDER BY name LIMIT $3::bigint
