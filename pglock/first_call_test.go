package pglock_test

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/internal/testkit/textlog"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/pglock"
)

// A table that cannot be used is a *SchemaError of the first call, which says what to do, and waits for nothing. When
// that is done, the next call works. What safety rests on is looked at, too: the key, the types, the kind of relation,
// and who sees its rows (defect G16).
func TestATableThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	const all = "GRANT SELECT, INSERT, UPDATE ON holdfast_lock TO "
	for name, c := range map[string]struct {
		spoil, mend string // with the role's name at the end
		says, does  string
		denied      bool
	}{
		"missing": {
			spoil: "DROP TABLE holdfast_lock; SELECT ", says: "does not exist", does: "pglock.Migrations",
		},
		"without a column": {
			spoil: "ALTER TABLE holdfast_lock DROP COLUMN note_since; " + all,
			mend:  "ALTER TABLE holdfast_lock ADD COLUMN note_since timestamptz; " + all,
			says:  "has no column note_since", does: "ADD COLUMN note_since timestamp with time zone",
		},
		"unlogged": {
			spoil: "ALTER TABLE holdfast_lock SET UNLOGGED; " + all,
			mend:  "ALTER TABLE holdfast_lock SET LOGGED; " + all,
			says:  "a crash of the server would forget", does: "SET LOGGED",
		},
		"without its key": {
			spoil: "ALTER TABLE holdfast_lock DROP CONSTRAINT holdfast_lock_pkey; " + all,
			mend:  "ALTER TABLE holdfast_lock ADD PRIMARY KEY (name); " + all,
			says:  "has no primary key", does: `ALTER TABLE "public"."holdfast_lock" ADD PRIMARY KEY (name)`,
		},
		"with a key for some names": {
			spoil: "ALTER TABLE holdfast_lock DROP CONSTRAINT holdfast_lock_pkey; " +
				"CREATE UNIQUE INDEX part ON holdfast_lock (name) WHERE name <> 'a'; " + all,
			mend: "ALTER TABLE holdfast_lock ADD PRIMARY KEY (name); " + all,
			says: "has no primary key", does: `ALTER TABLE "public"."holdfast_lock" ADD PRIMARY KEY (name)`,
		},
		"without time zone": {
			spoil: "ALTER TABLE holdfast_lock ALTER COLUMN until TYPE timestamp; " + all,
			mend:  "ALTER TABLE holdfast_lock ALTER COLUMN until TYPE timestamptz; " + all,
			says:  "column until timestamp without time zone", does: "ALTER COLUMN until TYPE timestamp with time zone",
		},
		"a view": {
			spoil: "ALTER TABLE holdfast_lock RENAME TO base; CREATE VIEW holdfast_lock AS SELECT * FROM base; " + all,
			mend:  "DROP VIEW holdfast_lock; ALTER TABLE base RENAME TO holdfast_lock; " + all,
			says:  "is not an ordinary table", does: "pglock.Migrate",
		},
		"with heirs": {
			spoil: "CREATE TABLE heir () INHERITS (holdfast_lock); " + all, mend: "DROP TABLE heir; " + all,
			says: "is not an ordinary table", does: "pglock.Migrate",
		},
		"with rows that are hidden": {
			spoil: "ALTER TABLE holdfast_lock ENABLE ROW LEVEL SECURITY; CREATE POLICY sees ON holdfast_lock FOR SELECT " +
				"USING (true); CREATE POLICY makes ON holdfast_lock FOR INSERT WITH CHECK (true); " + all,
			mend: "CREATE POLICY holdfast ON holdfast_lock USING (true); " + all,
			says: "row level security", does: `CREATE POLICY holdfast ON "public"."holdfast_lock" TO`, denied: true,
		},
		"without SELECT": {
			spoil: "GRANT INSERT, UPDATE ON holdfast_lock TO ", mend: all,
			says: "cannot be used by this user", does: "GRANT SELECT ON \"public\".\"holdfast_lock\" TO", denied: true,
		},
		"without INSERT": {
			spoil: "GRANT SELECT, UPDATE ON holdfast_lock TO ", mend: all,
			says: "cannot be used by this user", does: "GRANT INSERT ON \"public\".\"holdfast_lock\" TO", denied: true,
		},
		"without UPDATE": {
			spoil: "GRANT SELECT, INSERT ON holdfast_lock TO ", mend: all,
			says: "cannot be used by this user", does: "GRANT UPDATE ON \"public\".\"holdfast_lock\" TO", denied: true,
		},
		"without any right": {
			spoil: "SELECT ", mend: all,
			says: "cannot be used by this user", does: "GRANT INSERT, SELECT, UPDATE ON \"public\".\"holdfast_lock\" TO", denied: true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := database(t)
			user, to := newRole(t, of, "")
			pgtest.Run(t, of, c.spoil+quotedIf(c.spoil, user))
			user2 := client(t, pool(t, to), pglock.Options{})
			l := user2.Lock("a")
			for what, call := range map[string]func() error{
				"Lock":    func() error { _, _, err := l.Lock(within(t)); return err },
				"TryLock": func() error { _, _, err := l.TryLock(within(t)); return err },
				"Inspect": func() error { _, err := l.Inspect(within(t)); return err },
				"Break":   func() error { return l.Break(within(t)) },
			} {
				err := call()
				var schema *pglock.SchemaError
				require.ErrorAs(t, err, &schema, what)
				require.ErrorIs(t, err, lock.ErrUnavailable, what)
				require.Equal(t, "holdfast_lock", schema.Table)
				require.Contains(t, err.Error(), c.says)
				require.Contains(t, err.Error(), c.does)
				require.Contains(t, err.Error(), `lock "a"`)
				require.Equal(t, c.denied, strings.Contains(err.Error(), "denies access"), err)
			}
			if c.mend == "" {
				migrate(t, of)
				c.mend = all
			}
			require.Equal(t, "0", pgtest.Run(t, of, "SELECT count(*) FROM holdfast_lock"), "nothing is left behind")
			pgtest.Run(t, of, c.mend+user)
			taken(t, l)
		})
	}
}

// quotedIf is a role as an identifier, or as a text where a statement selects it.
func quotedIf(statement, role string) string {
	if strings.HasSuffix(statement, "SELECT ") {
		return "'" + role + "'"
	}
	return role
}

// A schema that the user may not look into is told in the same way.
func TestASchemaThatMayNotBeUsed(t *testing.T) {
	t.Parallel()
	of := database(t)
	pgtest.Run(t, of, "CREATE SCHEMA locks; "+tableOf(t, "locks.mine"))
	user, to := newRole(t, of, "")
	pgtest.Run(t, of, "GRANT SELECT, INSERT, UPDATE ON locks.mine TO "+user)
	c := client(t, pool(t, to), pglock.Options{Table: "locks.mine"})
	_, _, err := c.Lock("a").Lock(within(t))
	var schema *pglock.SchemaError
	require.ErrorAs(t, err, &schema)
	require.ErrorIs(t, err, lock.ErrUnavailable)
	require.Contains(t, err.Error(), "GRANT USAGE")
	pgtest.Run(t, of, "GRANT USAGE ON SCHEMA locks TO "+user)
	taken(t, c.Lock("a"))
}

// The table may be taken away later, too: the next call says so in the same way.
func TestATableThatIsTakenAwayLater(t *testing.T) {
	t.Parallel()
	of := database(t)
	c := client(t, pool(t, of), pglock.Options{})
	taken(t, c.Lock("a"))
	pgtest.Run(t, of, "ALTER TABLE holdfast_lock RENAME TO elsewhere")
	_, _, err := c.Lock("a").TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrUnavailable)
	_, _, err = c.Lock("a").TryLock(within(t))
	var schema *pglock.SchemaError
	require.ErrorAs(t, err, &schema)
	pgtest.Run(t, of, "ALTER TABLE elsewhere RENAME TO holdfast_lock")
	taken(t, c.Lock("a"))
}

// Of a server that is not there, TryLock says so at once, Lock when it has waited for a lease. It is used when it is
// there.
func TestAServerThatIsAbsent(t *testing.T) {
	t.Parallel()
	var said textlog.Log
	proxy, of, c := proxied(t, pglock.Options{Lease: time.Second, Logger: said.Logger()})
	proxy.Refuse(true)
	l := c.Lock("a")
	_, _, err := l.TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrUnavailable)
	require.Contains(t, err.Error(), "PostgreSQL is unavailable")
	var dial *net.OpError
	require.ErrorAs(t, err, &dial)

	_, _, err = l.Lock(within(t))
	require.ErrorIs(t, err, lock.ErrUnavailable)
	require.Contains(t, said.String(), "PostgreSQL is unavailable")

	waits := make(chan error, 1)
	go func() {
		_, unlock, err := l.Lock(within(t))
		waits <- errors.Join(err, unlock())
	}()
	proxy.Refuse(false)
	require.NoError(t, await(t, waits, "the lock"))
	eventually(t, func() bool { return strings.Contains(said.String(), "PostgreSQL is available again") }, "the log")
	isFree(t, of, "a")
}

// A token that somebody wrote into the table, and that cannot grow, is told in the words of the other stores. (defect
// G64)
func TestATokenThatCannotGrow(t *testing.T) {
	t.Parallel()
	of := database(t)
	psql(t, of, "INSERT INTO holdfast_lock (name, fence) VALUES ('a', 9223372036854775807)")
	c := client(t, pool(t, of), pglock.Options{})
	_, _, err := c.Lock("a").TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrKeyConflict)
	require.ErrorContains(t, err, "the fencing token cannot grow any more")
	_, _, err = multilock.New([]*lock.Lock{c.Lock("a"), c.Lock("b")}).TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrKeyConflict)
	taken(t, c.Lock("b"))
}

// A lease without an end, which somebody wrote into the table, is that of one lock: all others are listed, and waiters
// are told that it is busy. (defect G18)
func TestALeaseWithoutAnEnd(t *testing.T) {
	t.Parallel()
	of := database(t)
	psql(t, of, "INSERT INTO holdfast_lock (name, id, until) VALUES ('a', 'x:1', 'infinity')")
	c := client(t, pool(t, of), pglock.Options{})
	taken(t, c.Lock("b"))
	var names []string
	for entry, err := range pglock.List(within(t), c, "%") {
		require.NoError(t, err)
		names = append(names, entry.Name)
	}
	require.Equal(t, []string{"a", "b"}, names)
	_, _, err := c.Lock("a").TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrBusy)
	require.NoError(t, c.Lock("a").Break(within(t)))
	taken(t, c.Lock("a"))
}

// A row that was made and is not there says nothing of the lock, and never that it is busy. (defect G16)
func TestARowThatIsNotThere(t *testing.T) {
	t.Parallel()
	of := database(t)
	psql(t, of, `CREATE FUNCTION swallows() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
		CREATE TRIGGER swallows BEFORE INSERT ON holdfast_lock FOR EACH ROW EXECUTE FUNCTION swallows()`)
	c := client(t, pool(t, of), pglock.Options{})
	var schema *pglock.SchemaError
	_, _, err := c.Lock("a").TryLock(within(t))
	require.ErrorAs(t, err, &schema)
	require.NotErrorIs(t, err, lock.ErrBusy)
	require.Contains(t, err.Error(), "does not show a row that was just made")
	psql(t, of, "DROP TRIGGER swallows ON holdfast_lock")
	taken(t, c.Lock("a"))
}

// The table is looked at again by each new connection: while the client was cut off, a restore may have replaced it by
// one whose key is made last. (defect G16)
func TestATableThatIsReplaced(t *testing.T) {
	t.Parallel()
	of := database(t)
	c := client(t, pool(t, of), pglock.Options{})
	taken(t, c.Lock("a"))
	psql(t, of, "ALTER TABLE holdfast_lock DROP CONSTRAINT holdfast_lock_pkey; SELECT pg_terminate_backend(pid) "+
		"FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	var schema *pglock.SchemaError
	eventually(t, func() bool {
		_, unlock, err := c.Lock("a").TryLock(within(t))
		require.Error(t, errors.Join(err, unlock()))
		return errors.As(err, &schema)
	}, "the next connection finds it out")
	require.Contains(t, schema.Error(), "has no primary key")
	psql(t, of, "ALTER TABLE holdfast_lock ADD PRIMARY KEY (name)")
	taken(t, c.Lock("a"))
}
