-- Writes what a holder says of itself, or removes it, unless there is the note of a newer token.
--
-- $1: name, $2: id of the hold, $3: its token, $4: the text; NULL removes the note
-- returns: the hold stands; the note is not of a newer token; nothing if there is no row
WITH held AS MATERIALIZED (
    SELECT name, id = $2::text AND until > clock_timestamp() AS stands, note_fence <= $3::bigint AS newest
    FROM {{table}} WHERE name = $1::text FOR NO KEY UPDATE
), noted AS (
    UPDATE {{table}} AS l
    SET note = $4::text, note_id = $2::text, note_fence = $3::bigint,
        note_since = CASE WHEN l.note_fence = $3::bigint THEN l.note_since ELSE clock_timestamp() END
    FROM held WHERE l.name = held.name AND held.stands AND held.newest
)
SELECT stands, newest FROM held
