-- $1: the table's name
-- returns: its columns, in their order; NULL if there is no table
SELECT CASE WHEN to_regclass($1::text) IS NOT NULL THEN array(
    SELECT attname::text FROM pg_attribute
    WHERE attrelid = to_regclass($1::text) AND attnum > 0 AND NOT attisdropped ORDER BY attnum
) END
