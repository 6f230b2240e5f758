-- $1: name
-- returns: the id of the hold, the rest of its lease in ms (both NULL: nobody has the lock), the newest token, and
-- whether somebody listens for the release
SELECT CASE WHEN until > clock_timestamp() THEN id END,
    CASE WHEN until > clock_timestamp() THEN ceil(extract(epoch FROM until - clock_timestamp()) * 1000)::bigint END,
    fence, wanted > clock_timestamp()
FROM {{table}} WHERE name = $1::text
