package pglock_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

// locking returns the context of a Lock call that is under way, when it has the lock.
func locking(t *testing.T, l *lock.Lock) <-chan context.Context {
	held := make(chan context.Context, 1)
	go func() {
		if ctx, _, err := l.Lock(within(t)); err == nil {
			held <- ctx
		}
	}()
	return held
}

// notBeyondItsLease fails if the only hold of a database counts as valid for longer than its lease is there.
func notBeyondItsLease(t *testing.T, database string, hold lock.Hold) {
	t.Helper()
	until, err := time.Parse(time.RFC3339Nano, pgtest.Run(t, database,
		`SELECT to_char(until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') FROM holdfast_lock`))
	require.NoError(t, err)
	require.False(t, hold.ValidUntil.After(until), "valid until %v, and the lease ends at %v", hold.ValidUntil, until)
}

// A lease counts from the first request that may have begun it, also if the connection broke before the answer and
// no connection could be made for a while.
func TestALeaseCountsFromARequestWhoseConnectionBroke(t *testing.T) {
	t.Parallel()
	database := database(t)
	to, err := url.Parse(database)
	require.NoError(t, err)
	server := to.Host
	path := tcpproxy.Start(t, server)
	to.Host = path.Addr()
	const lease = 30 * time.Second
	c := client(t, pool(t, to.String()), pglock.Options{Lease: lease})
	_, unlock := take(t, within(t), c.Lock("order"))
	require.NoError(t, unlock())

	path.Hold(tcpproxy.Replies, true)
	held := locking(t, c.Lock("order", lock.FixedLease(lease)))
	pgtest.Eventually(t, func() bool {
		return pgtest.Run(t, database, "SELECT count(*) FROM holdfast_lock WHERE until > clock_timestamp()") == "1"
	}, "the request is carried out")
	path.Target("127.0.0.1:1") // where nobody listens
	path.CutAll()
	path.Hold(tcpproxy.Replies, false)
	time.Sleep(2 * time.Second) // the fault itself: more than what a clock may be wrong by during the lease
	path.Target(server)
	hold, err := c.Lock("order").Held(await(t, held, "Lock returns"))
	require.NoError(t, err)
	notBeyondItsLease(t, database, hold)
}

// The commit of an acquisition takes long, as it does where it waits for a standby that stands still, and its caller
// asks again meanwhile. The answer then is that another has the row, for what a commit has not finished nobody sees. It
// proves nothing: the lease counts from the first request all the same.
func TestALeaseCountsFromARequestWhoseCommitTookLong(t *testing.T) {
	t.Parallel()
	database := database(t)
	const lease, gate = 20 * time.Second, "4711"
	c := client(t, pool(t, database), pglock.Options{Lease: lease})
	_, unlock := take(t, within(t), c.Lock("order"))
	require.NoError(t, unlock())
	pgtest.Run(t, database, `
		CREATE FUNCTION waits() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
			WHILE NOT pg_try_advisory_xact_lock_shared(`+gate+`) LOOP PERFORM pg_sleep(0.01); END LOOP;
			RETURN NULL;
		END $$;
		CREATE CONSTRAINT TRIGGER waits AFTER UPDATE ON holdfast_lock DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW WHEN (NEW.id IS NOT NULL) EXECUTE FUNCTION waits()`)
	closed := session(t, database)
	_, err := closed.Exec(within(t), "SELECT pg_advisory_lock("+gate+")")
	require.NoError(t, err)

	began := time.Now()
	held := locking(t, c.Lock("order", lock.FixedLease(lease)))
	pgtest.Eventually(t, func() bool {
		return pgtest.Run(t, database, `SELECT count(*) FROM pg_stat_activity
			WHERE pid <> pg_backend_pid() AND wait_event = 'PgSleep'`) == "1"
	}, "the commit waits")
	time.Sleep(5 * time.Second) // the fault itself: the first request is given up, and later ones are told "busy"
	_, err = closed.Exec(within(t), "SELECT pg_advisory_unlock("+gate+")")
	require.NoError(t, err)
	hold, err := c.Lock("order").Held(await(t, held, "Lock returns"))
	require.NoError(t, err)
	require.Greater(t, time.Since(began), 5*time.Second)
	notBeyondItsLease(t, database, hold)
}
