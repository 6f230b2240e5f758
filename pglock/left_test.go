package pglock_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

// mostSessions is how many a client with so many MaxConns has at the server: besides, two renew, one listens, one
// releases while all others are taken, and one asks what the server still works on.
func mostSessions(maxConns int) int { return maxConns + 5 }

// working is how many sessions of a database the server has that do something, whether or not their clients still wait
// for it. A session that does nothing may be that of a connection which has just been closed.
func working(t *testing.T, of string) int {
	t.Helper()
	n, err := strconv.Atoi(psql(t, of, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "+
		"AND backend_type = 'client backend' AND pid <> pg_backend_pid() AND state IS DISTINCT FROM 'idle'"))
	require.NoError(t, err)
	return n
}

// holds takes a lock that is not renewed, nor asked for because its break may have been missed: that is asked once, when
// the client begins to listen.
func holds(t *testing.T, server *pgtest.Server, c *pglock.Client) (unlock func() error) {
	t.Helper()
	_, leave := take(t, within(t), c.Lock("listens", lock.FixedLease(10*patience)))
	eventually(t, func() bool { return psql(t, server.URL(), "SELECT count(*) "+listeners) == "1" }, "it has asked")
	require.NoError(t, leave())
	_, unlock = take(t, within(t), c.Lock("held", lock.FixedLease(10*patience)))
	return unlock
}

// While a standby is away, commits wait for it. What was given up meanwhile counts against MaxConns until the server has
// finished with it, so a client never has more sessions. A release, which waits for no standby, goes on. (defect G13)
func TestRequestsThatWereGivenUpAreCounted(t *testing.T) {
	t.Parallel()
	primary := pgtest.Start(t)
	migrate(t, primary.URL())
	standby := primary.Standby(t, true)
	opts := pglock.Options{Lease: time.Second, MaxConns: 2}
	a, b := client(t, pool(t, primary.URL()), opts), client(t, pool(t, primary.URL()), opts)
	warm(t, a, "a")
	warm(t, b, "a")
	unlock := holds(t, primary, a)
	standby.Freeze()

	most := asked(t, primary, a, b)
	require.LessOrEqual(t, most, 2*mostSessions(2))
	require.NoError(t, unlock(), "it waits for no standby")
	standby.Thaw()
	for _, c := range []*pglock.Client{a, b} {
		eventually(t, func() bool {
			_, unlock, err := c.Lock("a").TryLock(within(t))
			return errors.Join(err, unlock()) == nil
		}, "the server has finished")
	}
}

// Another transaction has the table locked: no client has more sessions than it may have. (defect G13)
func TestRequestsThatWaitForTheTableAreCounted(t *testing.T) {
	t.Parallel()
	of := database(t)
	c := client(t, pool(t, of), pglock.Options{Lease: time.Second, MaxConns: 2})
	warm(t, c, "a", "b")
	other := session(t, of)
	_, err := other.Exec(within(t), "BEGIN; LOCK TABLE holdfast_lock")
	require.NoError(t, err)
	most := 0
	for range 10 {
		_, _, err := c.Lock("a").TryLock(within(t))
		require.ErrorIs(t, err, lock.ErrUnavailable)
		most = max(most, working(t, of))
	}
	require.LessOrEqual(t, most, mostSessions(2)+1, "with that of the other transaction")
	_, err = other.Exec(within(t), "ROLLBACK")
	require.NoError(t, err)
	eventually(t, func() bool {
		_, unlock, err := c.Lock("a").TryLock(within(t))
		return errors.Join(err, unlock()) == nil
	}, "the table is free")
}

// The disk of the server hangs: commits of grants wait for it, those of releases do not, and no client has more sessions
// than it may have. (defect G13)
func TestRequestsThatWaitForTheDiskAreCounted(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, "fsync=on")
	migrate(t, server.URL())
	c := client(t, pool(t, server.URL()), pglock.Options{Lease: time.Second, MaxConns: 2})
	warm(t, c, "a")
	unlock := holds(t, server, c)
	resume := server.HangDisk(t)
	most := asked(t, server, c)
	require.LessOrEqual(t, most, mostSessions(2))
	require.NoError(t, unlock(), "it waits for no disk")
	resume()
	eventually(t, func() bool {
		_, unlock, err := c.Lock("a").TryLock(within(t))
		return errors.Join(err, unlock()) == nil
	}, "the server has finished")
}

// asked has clients ask for locks that nobody can get, until they have asked often or have too many sessions. It returns
// how many sessions worked at most.
func asked(t *testing.T, server *pgtest.Server, clients ...*pglock.Client) (most int) {
	t.Helper()
	ctx, stop := context.WithCancel(within(t))
	var calls atomic.Int64
	var all sync.WaitGroup
	for range 4 {
		for _, c := range clients {
			all.Go(func() {
				for ctx.Err() == nil {
					if _, _, err := c.Lock(fmt.Sprint("n", calls.Add(1))).TryLock(ctx); err == nil {
						t.Error("it is not where it must be")
					}
				}
			})
		}
	}
	limit := len(clients) * mostSessions(2)
	eventually(t, func() bool {
		most = max(most, working(t, server.URL()))
		return calls.Load() > int64(25*len(clients)) || most > limit
	}, "they ask, and wait")
	stop()
	all.Wait()
	return most
}
