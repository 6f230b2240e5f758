package pglock_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/internal/testkit/textlog"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

// A request that is given up keeps its slot only as long as the server works on it: not if that is out of reach, and
// knows of no such request when it is asked. (Of two connections one is made anew meanwhile, for the release of what may
// have been taken.)
func TestAGivenUpRequestKeepsNoConnection(t *testing.T) {
	t.Parallel()
	proxy, _, c := proxied(t, pglock.Options{Lease: 9 * time.Second, MaxConns: 2})
	warm(t, c)
	proxy.Blackhole(true)
	_, _, err := c.Lock("a").TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrUnavailable)
	proxy.Blackhole(false)
	_, unlock, err := c.Lock("a").TryLock(within(t))
	require.NoError(t, err)
	require.NoError(t, unlock())
	require.Zero(t, proxy.Cancels())
}

// A connection that cannot be made, because nobody answers, does not keep others from being made for minutes.
func TestAConnectionThatIsNotAnsweredIsGivenUp(t *testing.T) {
	t.Parallel()
	proxy, _, c := proxied(t, pglock.Options{MaxConns: 1})
	proxy.Blackhole(true)
	_, _, err := c.Lock("a").TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrUnavailable)
	proxy.Blackhole(false)
	taken(t, c.Lock("a")) // which waits for a lease at most
}

// Connections that died while they were idle are no error of the next call, whichever it is.
func TestIdleConnectionsThatDied(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]func(t *testing.T, proxy *pgproxy.Proxy, of string){
		"cut": func(_ *testing.T, proxy *pgproxy.Proxy, _ string) { proxy.CutAll() },
		"terminated": func(t *testing.T, _ *pgproxy.Proxy, of string) {
			pgtest.Run(t, of, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "+
				"WHERE pid <> pg_backend_pid() AND datname = current_database()")
		},
		"timed out": func(t *testing.T, _ *pgproxy.Proxy, of string) {
			eventually(t, func() bool {
				return pgtest.Run(t, of, "SELECT count(*) FROM pg_stat_activity WHERE usename LIKE 'role_%' "+
					"AND datname = current_database()") == "0"
			}, "the server has ended the sessions")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := database(t)
			user, to := newRole(t, of, "")
			pgtest.Run(t, of, "GRANT SELECT, INSERT, UPDATE ON holdfast_lock TO "+user)
			if name == "timed out" {
				// A busy machine may need some tenths of a second between two steps of a call.
				pgtest.Run(t, of, "ALTER ROLE "+user+" SET idle_session_timeout = '1s'")
			}
			proxy := pgproxy.Start(t, pgtest.Shared(t).Addr())
			c := client(t, pool(t, proxy.To(to)), pglock.Options{})
			l := c.Lock("a")
			held, unlock := take(t, within(t), c.Lock("held"))
			for what, call := range map[string]func() error{
				"TryLock": func() error {
					_, unlock, err := l.TryLock(within(t))
					return errors.Join(err, unlock())
				},
				"Inspect": func() error { _, err := l.Inspect(within(t)); return err },
				"Break": func() error {
					if err := l.Break(within(t)); !errors.Is(err, lock.ErrNotHeld) {
						return err
					}
					return nil
				},
				"List": func() error {
					for _, err := range pglock.List(within(t), c, "%") {
						if err != nil {
							return err
						}
					}
					return nil
				},
				"Check": func() error {
					for _, finding := range pglock.Check(within(t), c) {
						if finding.Level == lock.LevelFailure && finding.Name != "durability" {
							return errors.New(finding.Text)
						}
					}
					return nil
				},
			} {
				busied(t, c)
				kill(t, proxy, of)
				require.NoError(t, call(), what)
			}
			kill(t, proxy, of)
			require.NoError(t, held.Err())
			require.NoError(t, unlock())
		})
	}
}

// busied has a client make all of its connections.
func busied(t *testing.T, c *pglock.Client) {
	t.Helper()
	done := make(chan error)
	for _, name := range []string{"b1", "b2", "b3", "b4"} {
		go func() {
			_, unlock, err := c.Lock(name).Lock(within(t))
			done <- errors.Join(err, unlock())
		}()
	}
	for range 4 {
		require.NoError(t, await(t, done, "locks beside one another"))
	}
}

// What the application's pool does to its connections, as it makes them, is done to all of the client's, the one that
// listens included. What it does with what comes on them concerns its own alone.
func TestTheApplicationsHooks(t *testing.T) {
	t.Parallel()
	of := database(t)
	user, _ := newRole(t, of, "")
	pgtest.Run(t, of, "GRANT SELECT, INSERT, UPDATE ON holdfast_lock TO "+user)
	proxy := pgproxy.Start(t, pgtest.Shared(t).Addr())
	var heard, prepared atomic.Int64
	adapt := func(c *pgxpool.Config) {
		c.ConnConfig.User = "nobody_knows"
		c.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error { c.User = user; return nil }
		c.AfterConnect = func(context.Context, *pgx.Conn) error { prepared.Add(1); return nil }
		c.ConnConfig.OnNotification = func(*pgconn.PgConn, *pgconn.Notification) { heard.Add(1) }
		c.ConnConfig.BuildContextWatcherHandler = func(conn *pgconn.PgConn) ctxwatch.Handler {
			return &pgconn.CancelRequestContextWatcherHandler{Conn: conn, DeadlineDelay: 10 * patience}
		}
	}
	opts := pglock.Options{Lease: 3 * time.Second, MaxPoll: 10 * patience}
	a := client(t, pool(t, proxy.To(of), adapt), opts)
	b := client(t, pool(t, proxy.To(of), adapt), opts)
	_, unlock := take(t, within(t), a.Lock("a", lock.Lease(10*patience)))
	got := make(chan error, 1)
	go func() {
		_, unlock, err := b.Lock("a").Lock(within(t))
		got <- errors.Join(err, unlock())
	}()
	eventually(t, func() bool { return row(t, of, "a") == "t|t|t" }, "the waiter listens")
	require.NoError(t, unlock())
	require.NoError(t, await(t, got, "the message"))
	require.Zero(t, heard.Load())
	require.EqualValues(t, proxy.Accepted(), prepared.Load(), "each connection, that which listens too")
	require.GreaterOrEqual(t, prepared.Load(), int64(3))

	proxy.Blackhole(true)
	_, _, err := b.Lock("b").TryLock(within(t)) // returns at its limit, though the application's requests would not
	require.ErrorIs(t, err, lock.ErrUnavailable)
	require.Zero(t, proxy.Cancels())
}

// A listener that the server refuses is told once: everything else goes on, and waiters poll.
func TestAListenerThatIsRefused(t *testing.T) {
	t.Parallel()
	of := database(t)
	user, to := newRole(t, of, "CONNECTION LIMIT 1")
	pgtest.Run(t, of, "GRANT SELECT, INSERT, UPDATE ON holdfast_lock TO "+user)
	var said textlog.Log
	opts := pglock.Options{MaxPoll: 50 * time.Millisecond, MaxConns: 1, Logger: said.Logger()}
	c := client(t, pool(t, to), opts)
	holder := client(t, pool(t, of), pglock.Options{})
	_, unlock := take(t, within(t), holder.Lock("a"))
	got := make(chan error, 1)
	go func() {
		_, unlock, err := c.Lock("a").Lock(within(t))
		got <- errors.Join(err, unlock())
	}()
	const text = "cannot listen for releases"
	eventually(t, func() bool { return strings.Contains(said.String(), text) }, "the log says it")
	require.NoError(t, unlock())
	require.NoError(t, await(t, got, "a poll"))
	require.Equal(t, 1, strings.Count(said.String(), text))
}

// An administrator sees whose sessions these are: the application's, if it has a name, and those of the locks otherwise.
// (defect G22)
func TestSessionsHaveAName(t *testing.T) {
	t.Parallel()
	for name, param := range map[string]string{"holdfast": "", "shop": "&application_name=shop"} {
		of := database(t)
		taken(t, client(t, pool(t, of+param), pglock.Options{}).Lock("a"))
		require.Equal(t, name, psql(t, of, "SELECT DISTINCT application_name FROM pg_stat_activity "+
			"WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'"))
	}
}
