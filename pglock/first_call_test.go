package pglock_test

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

// A table that cannot be used is a *SchemaError of the first call, which says what to do, and waits for nothing. When
// that is done, the next call works.
func TestATableThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	const all = "GRANT SELECT, INSERT, UPDATE ON holdfast_lock TO "
	for name, c := range map[string]struct {
		spoil, mend string // with the role's name at the end
		says, does  string
		denied      bool
	}{
		"missing": {
			spoil: "DROP TABLE holdfast_lock; SELECT ", says: "does not exist", does: "pglock.Migration",
		},
		"without a column": {
			spoil: "ALTER TABLE holdfast_lock DROP COLUMN note_since; " + all,
			mend:  "ALTER TABLE holdfast_lock ADD COLUMN note_since timestamptz; " + all,
			says:  "has no column note_since", does: "pglock.Migration",
		},
		"unlogged": {
			spoil: "ALTER TABLE holdfast_lock SET UNLOGGED; " + all,
			mend:  "ALTER TABLE holdfast_lock SET LOGGED; " + all,
			says:  "a crash of the server would forget", does: "SET LOGGED",
		},
		"without SELECT": {
			spoil: "GRANT INSERT, UPDATE ON holdfast_lock TO ", mend: all,
			says: "cannot be used by this user", does: "GRANT SELECT on it", denied: true,
		},
		"without INSERT": {
			spoil: "GRANT SELECT, UPDATE ON holdfast_lock TO ", mend: all,
			says: "cannot be used by this user", does: "GRANT INSERT on it", denied: true,
		},
		"without UPDATE": {
			spoil: "GRANT SELECT, INSERT ON holdfast_lock TO ", mend: all,
			says: "cannot be used by this user", does: "GRANT UPDATE on it", denied: true,
		},
		"without any right": {
			spoil: "SELECT ", mend: all,
			says: "cannot be used by this user", does: "GRANT INSERT, SELECT, UPDATE on it", denied: true,
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
	statement, err := pglock.Migration("locks.mine")
	require.NoError(t, err)
	pgtest.Run(t, of, "CREATE SCHEMA locks; "+statement)
	user, to := newRole(t, of, "")
	pgtest.Run(t, of, "GRANT SELECT, INSERT, UPDATE ON locks.mine TO "+user)
	c := client(t, pool(t, to), pglock.Options{Table: "locks.mine"})
	_, _, err = c.Lock("a").Lock(within(t))
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
	var said logged
	proxy, of, c := proxied(t, pglock.Options{Lease: time.Second, Logger: said.logger()})
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
