-- Reads, in a statement that has lockers, those of a row. What stands in the row is the id of a transaction, or the
-- number of a list of several, and it does not say which. A number of no list has no members. A number older than all
-- lists of the table would be an error, and is not looked up.
(
    SELECT coalesce(json_agg(json_build_object(
        'pid', t.pid, 'prepared', t.prepared, 'open', t.open, 'state', t.state) ORDER BY t.open DESC), '[]')
    FROM lockers AS t WHERE t.xid = l.xmax OR t.xid IN (
        SELECT m.xid FROM pg_class AS c, pg_get_multixact_members(CASE WHEN
            mxid_age(l.xmax) BETWEEN 1 AND mxid_age(c.relminmxid) THEN l.xmax END) AS m WHERE c.oid = l.tableoid
    )
)
