-- $1: name
-- returns: the note of the hold that stands: id, token, since when in microseconds, text; nothing if there is none
SELECT note_id, note_fence, (extract(epoch FROM note_since) * 1000000)::bigint, note
FROM {{table}} WHERE name = $1::text AND until > clock_timestamp() AND id = note_id AND note IS NOT NULL
