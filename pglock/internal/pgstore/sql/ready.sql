-- Reads what a client must know of the server, of its session there and of the table before it takes something.
--
-- $1: the table's name
-- returns: the server is a standby; the clock in microseconds; the timeline; the role of the session, as SET ROLE has it;
-- the user whose rights that gives; the search_path; the schemas that have a table of that name; the table's schema and
-- its name ('': there is none); its kind, as pg_class has it, with + if other tables inherit from it; it is permanent;
-- this user may SELECT, INSERT, UPDATE there; it has a key on the name alone, which makes a name unique; policies may
-- hide rows from this user; its columns, each with its type; the number of the session;
-- this user sees what standbys have; the number of the table, and the
-- transaction that last changed what it is
SELECT pg_is_in_recovery(), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    CASE WHEN pg_is_in_recovery() THEN '' ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END,
    current_setting('role'), current_user::text, current_setting('search_path'),
    array(
        SELECT n.nspname::text FROM pg_class AS o JOIN pg_namespace AS n ON n.oid = o.relnamespace
        WHERE o.relname = (parse_ident($1::text))[cardinality(parse_ident($1::text))] AND o.relkind IN ('r', 'p')
        ORDER BY 1 LIMIT 5
    ),
    coalesce(n.nspname::text, ''), coalesce(t.relname::text, ''),
    coalesce(t.relkind::text, '') ||
        CASE WHEN EXISTS (SELECT FROM pg_inherits WHERE inhparent = t.oid) THEN '+' ELSE '' END,
    coalesce(t.relpersistence = 'p', false),
    coalesce(has_table_privilege(t.oid, 'SELECT'), false), coalesce(has_table_privilege(t.oid, 'INSERT'), false),
    coalesce(has_table_privilege(t.oid, 'UPDATE'), false),
    EXISTS (
        SELECT FROM pg_index AS i JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
        WHERE i.indrelid = t.oid AND a.attname = 'name' AND i.indnkeyatts = 1
            AND i.indisunique AND i.indimmediate AND i.indisvalid AND i.indisready AND i.indpred IS NULL
    ),
    coalesce(row_security_active(t.oid), false) AND (
        EXISTS (SELECT FROM pg_policy AS p WHERE p.polrelid = t.oid AND NOT p.polpermissive)
        OR EXISTS (SELECT FROM unnest('{r,a,w}'::"char"[]) AS command WHERE NOT EXISTS (
            SELECT FROM pg_policy AS p
            WHERE p.polrelid = t.oid AND p.polcmd IN (command, '*')
                AND EXISTS (SELECT FROM unnest(p.polroles) AS r WHERE r = 0 OR pg_has_role(r, 'USAGE'))
                AND coalesce(pg_get_expr(p.polqual, p.polrelid), 'true') = 'true'
                AND coalesce(pg_get_expr(p.polwithcheck, p.polrelid), 'true') = 'true'
        ))
    ),
    array(
        SELECT a.attname || ' ' || format_type(a.atttypid, NULL)
            || CASE WHEN c.oid IS NULL THEN '' ELSE ' with a collation that is not deterministic' END
        FROM pg_attribute AS a LEFT JOIN pg_collation AS c ON c.oid = a.attcollation AND NOT c.collisdeterministic
        WHERE a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped
    ),
    pg_backend_pid()::bigint::oid, pg_has_role('pg_read_all_stats', 'USAGE'), coalesce(t.oid, 0), coalesce(t.xmin::text, '')
FROM (SELECT to_regclass($1::text) AS oid) AS named
    LEFT JOIN pg_class AS t ON t.oid = named.oid LEFT JOIN pg_namespace AS n ON n.oid = t.relnamespace
