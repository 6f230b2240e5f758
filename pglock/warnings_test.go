package pglock_test

import (
	"context"
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

// A warning of the server's refuses nothing, whatever it is about. Each is logged once. (defect G49)
func TestAWarningIsNoRefusal(t *testing.T) {
	t.Parallel()
	of := database(t)
	pgtest.Run(t, of, `CREATE FUNCTION warns() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN RAISE WARNING 'lock % changes', NEW.name; RETURN NEW; END $$;
		CREATE TRIGGER warns BEFORE INSERT OR UPDATE ON holdfast_lock FOR EACH ROW EXECUTE FUNCTION warns()`)
	var said textlog.Log
	c := client(t, pool(t, of), pglock.Options{Lease: time.Second, Logger: said.Logger()})
	taken(t, c.Lock("a"))
	_, unlock, err := c.Lock("a").TryLock(within(t))
	require.NoError(t, err)
	require.NoError(t, unlock())
	set := multilock.New([]*lock.Lock{c.Lock("a"), c.Lock("b")})
	_, unlock, err = set.TryLock(within(t))
	require.NoError(t, err)
	require.NoError(t, unlock())

	held, unlock := take(t, within(t), c.Lock("kept"))
	renewals := func() string {
		return pgtest.Run(t, of, "SELECT until > to_timestamp(fence / 1000000.0) + interval '2 s' FROM holdfast_lock "+
			"WHERE name = 'kept'")
	}
	eventually(t, func() bool { return renewals() == "t" || held.Err() != nil }, "it was renewed for a second")
	require.NoError(t, context.Cause(held))
	require.NoError(t, unlock())
	require.Equal(t, 1, strings.Count(said.String(), "PostgreSQL warns"), said.String())
	require.Contains(t, said.String(), "changes")
}

// A database whose transaction ids run low works, and warns with each write. Check tells it long before. (defect G49)
func TestTransactionIDsThatRunLow(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, "wal_level=logical")
	migrate(t, server.URL())
	server.Run(t, "CREATE TABLE work (n int)")
	var said textlog.Log
	c := client(t, pool(t, server.URL()), pglock.Options{Logger: said.Logger()})
	ages := func() lock.Finding { return finding(t, c, "ids") }
	require.Equal(t, lock.LevelOK, ages().Level, ages().Text)
	server.Age(t, 2_107_483_700+1000)
	server.Run(t, "INSERT INTO work VALUES (1)") // the application's own writes work
	taken(t, c.Lock("a"))
	eventually(t, func() bool { return strings.Contains(said.String(), "must be vacuumed") }, "the log says it")
	require.Equal(t, lock.LevelWarning, ages().Level, ages().Text)
	require.Equal(t, 1, strings.Count(said.String(), "PostgreSQL warns"), said.String())
}
