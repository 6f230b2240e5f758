-- Frees locks that have their ids, or retains them for somebody who does not exist. A row is locked whatever its id:
-- an acquisition that is under way has not shown its id yet, and the release of that id comes after it. A row that is
-- locked is skipped where one request releases many, and is then no answer.
--
-- $1: names, $2: ids, $3: until when each is retained, in microseconds (0: not), $4: as which id
-- returns, for each name in its order: it was released; the row could be looked at; somebody listens
WITH parting AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[]) WITH ORDINALITY
        AS p (name, id, retain, as_id, nth)
), locked AS MATERIALIZED (
    SELECT name, id FROM {{table}} WHERE name = ANY ($1::text[]) ORDER BY name FOR NO KEY UPDATE {{skip}}
), released AS (
    UPDATE {{table}} AS l
    SET id = CASE WHEN to_timestamp(p.retain / 1000000.0) > clock_timestamp() THEN p.as_id END,
        until = CASE WHEN to_timestamp(p.retain / 1000000.0) > clock_timestamp()
            THEN to_timestamp(p.retain / 1000000.0) ELSE 'epoch' END
    FROM locked JOIN parting AS p USING (name)
    WHERE l.name = locked.name AND locked.id = p.id
    RETURNING p.nth, l.wanted > clock_timestamp() AS heard
)
SELECT r.nth IS NOT NULL,
    EXISTS (SELECT FROM locked WHERE locked.name = p.name) OR NOT EXISTS (SELECT FROM {{table}} AS l WHERE l.name = p.name),
    coalesce(r.heard, false)
FROM parting AS p LEFT JOIN released AS r USING (nth) ORDER BY p.nth
