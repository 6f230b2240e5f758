package pglock_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/internal/testkit/textlog"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

// unpolled are options under which nothing but a message wakes a waiter in the time of a test. The holder's lease must
// be long, too.
var unpolled = pglock.Options{MaxPoll: 10 * patience}

// forLong is a handle whose lease is no reason for a waiter to look again.
func forLong(c *pglock.Client, name string) *lock.Lock { return c.Lock(name, lock.Lease(10*patience)) }

// waiter is a call that waits for a lock, and gives it back.
func waiter(t testing.TB, l *lock.Lock) (done <-chan error) {
	t.Helper()
	ctx, got := within(t), make(chan error, 1)
	go func() {
		_, unlock, err := l.Lock(ctx)
		got <- errors.Join(err, unlock())
	}()
	return got
}

// listens waits until the row says that somebody listens for a release.
func listens(t testing.TB, of, name string) {
	t.Helper()
	eventually(t, func() bool { return row(t, of, name) == "t|t|t" }, "the waiter listens")
}

const listeners = "FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"

// The connection that listens is terminated while a waiter waits: a release afterwards is heard, whether it comes
// before there is another one, or after.
func TestAListenerThatIsTerminated(t *testing.T) {
	t.Parallel()
	of, a, b := two(t, unpolled)
	for _, first := range []string{"the release", "the next connection"} {
		_, unlock := take(t, within(t), forLong(a, "a"))
		got := waiter(t, b.Lock("a"))
		listens(t, of, "a")
		eventually(t, func() bool { return psql(t, of, "SELECT count(*) "+listeners) == "2" }, "the holder listens, too")
		pids := psql(t, of, "SELECT string_agg(pid::text, ', ') "+listeners)
		psql(t, of, "SELECT pg_terminate_backend(pid) "+listeners)
		if first != "the release" {
			eventually(t, func() bool {
				return psql(t, of, "SELECT count(*) "+listeners+" AND pid NOT IN ("+pids+")") == "2"
			}, "other connections listen")
		}
		require.NoError(t, unlock())
		require.NoError(t, await(t, got, first))
	}
}

// Clients of one database with several tables do not wake one another, and those of one table do, whatever the names.
func TestNamesAndTablesOfMessages(t *testing.T) {
	t.Parallel()
	of := database(t)
	const table = `odd "schema.odd ""table`
	psql(t, of, `CREATE SCHEMA "odd ""schema"; `+tableOf(t, table))
	opts := unpolled
	opts.Table = table
	a, b := client(t, pool(t, of), opts), client(t, pool(t, of), opts)
	for _, name := range []string{"=", "?x", `a"b'c`, "ä ö", strings.Repeat("x", 1024), "a\nb"} {
		_, unlock := take(t, within(t), forLong(a, name))
		got := waiter(t, b.Lock(name))
		eventually(t, func() bool {
			info, err := a.Lock(name).Inspect(within(t))
			require.NoError(t, err)
			return info.Waiters == 1
		}, "the waiter listens")
		require.NoError(t, unlock())
		require.NoError(t, await(t, got, name))
	}
}

// bounced are two clients that reach a new database through a pgbouncer.
func bounced(t *testing.T, mode string, opts pglock.Options) (of string, a, b *pglock.Client) {
	t.Helper()
	of, _, a, b = bouncing(t, mode, opts)
	return of, a, b
}

func bouncing(t *testing.T, mode string, opts pglock.Options) (of string, p *pgtest.Bouncer, a, b *pglock.Client) {
	t.Helper()
	of, p = database(t), pgtest.StartBouncer(t, pgtest.Shared(t), mode, "default_pool_size=20")
	to := p.To(of)
	return of, p, client(t, pool(t, to), opts), client(t, pool(t, to), opts)
}

// Behind a pooler in transaction mode no notification arrives. That is found out, logged once, told by Check, and
// waiters poll (bug 57).
func TestADeafListener(t *testing.T) {
	t.Parallel()
	var said textlog.Log
	of, a, b := bounced(t, "transaction", pglock.Options{MaxPoll: 100 * time.Millisecond, Logger: said.Logger()})
	const text = "delivers no notifications"
	for _, name := range []string{"a", "b"} {
		_, unlock := take(t, within(t), forLong(a, name))
		got := waiter(t, b.Lock(name))
		eventually(t, func() bool { return strings.Contains(said.String(), text) }, "the log says it")
		require.NoError(t, unlock())
		require.NoError(t, await(t, got, "a poll"))
	}
	found := finding(t, b, "notifications")
	require.Equal(t, lock.LevelWarning, found.Level)
	require.Contains(t, found.Text, "pooler in transaction mode")
	require.Contains(t, found.Text, "MaxPoll")
	require.NotContains(t, found.Text, "Migrate")
	psql(t, of, "ALTER TABLE holdfast_lock DROP COLUMN polled")
	require.Contains(t, finding(t, b, "notifications").Text, "pglock.Migrate")
	require.NoError(t, b.Close())
	require.LessOrEqual(t, strings.Count(said.String(), text), 2, "once for each client")
}

// A client that heard nothing, because the server was too busy or the pooler in the wrong mode, tries again: it hears of
// releases soon (bug 57).
func TestAListenerThatWasDeafForAMoment(t *testing.T) {
	t.Parallel()
	var said textlog.Log
	opts := unpolled
	opts.Logger = said.Logger()
	of, pooler, a, b := bouncing(t, "transaction", opts)
	_, unlock := take(t, within(t), forLong(a, "a"))
	got := waiter(t, b.Lock("a"))
	eventually(t, func() bool { return strings.Contains(said.String(), "delivers no notifications") }, "the log says it")
	pooler.Switch(t, "session")
	listens(t, of, "a")
	require.NoError(t, unlock())
	require.NoError(t, await(t, got, "the message"))
}

// In session mode they arrive.
func TestAListenerBehindAPoolerInSessionMode(t *testing.T) {
	t.Parallel()
	of, a, b := bounced(t, "session", unpolled)
	_, unlock := take(t, within(t), forLong(a, "a"))
	got := waiter(t, b.Lock("a"))
	listens(t, of, "a")
	require.NoError(t, unlock())
	require.NoError(t, await(t, got, "the message"))
	require.Equal(t, lock.LevelOK, finding(t, b, "notifications").Level)
}

// In statement mode it is as in transaction mode: a request is one pipeline, which leaves no transaction open.
func TestAPoolerInStatementMode(t *testing.T) {
	t.Parallel()
	_, a, b := bounced(t, "statement", pglock.Options{MaxPoll: 100 * time.Millisecond})
	_, unlock := take(t, within(t), forLong(a, "a"))
	got := waiter(t, b.Lock("a"))
	_, _, err := b.Lock("a").TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrBusy)
	require.NoError(t, unlock())
	require.NoError(t, await(t, got, "a poll"))
}

// A client whose sessions are ended when they are idle listens all the same: the connection is made again.
func TestAListenerWhoseSessionMayNotBeIdle(t *testing.T) {
	t.Parallel()
	of := database(t)
	user, to := newRole(t, of, "")
	psql(t, of, "GRANT SELECT, INSERT, UPDATE ON holdfast_lock TO "+user+"; ALTER ROLE "+user+
		" SET idle_session_timeout = '200ms'")
	of2 := pool(t, to, func(c *pgxpool.Config) { c.MaxConns = 1 })
	a, b := client(t, of2, unpolled), client(t, of2, unpolled)
	_, unlock := take(t, within(t), forLong(a, "a"))
	got := waiter(t, b.Lock("a"))
	listens(t, of, "a")
	pid := ""
	for range 3 {
		eventually(t, func() bool {
			now := psql(t, of, "SELECT pid "+listeners)
			was := pid
			if now != "" {
				pid = now
			}
			return now != "" && now != was
		}, "another connection listens")
	}
	require.NoError(t, unlock())
	require.NoError(t, await(t, got, "the message"))
}

// finding is what Check says of one thing.
func finding(t testing.TB, c *pglock.Client, name string) lock.Finding {
	t.Helper()
	for _, f := range pglock.Check(within(t), c) {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("Check says nothing of %s", name)
	panic("unreachable")
}
