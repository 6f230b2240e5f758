package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

// replicated is a server with a standby.
type replicated struct {
	primary, standby *pgtest.Server
}

func newReplicated(t *testing.T, synchronous bool) replicated {
	t.Helper()
	primary := pgtest.Start(t)
	migrate(t, primary.URL())
	return replicated{primary, primary.Standby(t, synchronous)}
}

// both is the connection string of whichever of the two takes writes.
func (r replicated) both(t *testing.T) string {
	t.Helper()
	to, err := url.Parse(r.primary.URL())
	require.NoError(t, err)
	to.Host = r.primary.Addr() + "," + r.standby.Addr()
	to.RawQuery += "&target_session_attrs=read-write"
	return to.String()
}

const waitingCommits = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'"

// waits waits until a commit waits for the standby.
func (r replicated) waits(t *testing.T) {
	t.Helper()
	eventually(t, func() bool { return r.primary.Run(t, "SELECT count(*) "+waitingCommits) != "0" }, "a commit waits")
}

// caughtUp waits until the standby has what the primary wrote.
func (r replicated) caughtUp(t *testing.T) {
	t.Helper()
	eventually(t, func() bool {
		return r.primary.Run(t, "SELECT bool_and(replay_lsn >= pg_current_wal_lsn()) FROM pg_stat_replication") == "t"
	}, "the standby has caught up")
}

// A synchronous standby stands still. Nothing is granted that it does not have, whatever an operator does to the
// commits that wait for it, and nothing is left when it is back.
func TestASynchronousStandbyThatStandsStill(t *testing.T) {
	t.Parallel()
	r := newReplicated(t, true)
	of := r.primary.URL()
	attempts := make(chan error, 1000)
	c := client(t, of, pglock.Options{Lease: 6 * time.Second, Observer: &lock.Observer{
		Command: func(command lock.Command) { attempts <- command.Err },
	}})
	l := c.Lock("a")
	taken(t, l)
	back := func(t *testing.T) {
		r.standby.Thaw()
		isFree(t, of, "a")
		taken(t, l)
	}

	t.Run("no grant while the commit waits", func(t *testing.T) {
		r.standby.Freeze()
		_, _, err := l.TryLock(within(t))
		require.ErrorIs(t, err, lock.ErrUnavailable)
		ctx, cancel := context.WithCancel(within(t))
		got := make(chan error, 1)
		go func() {
			_, _, err := l.Lock(ctx)
			got <- err
		}()
		r.waits(t)
		cancel()
		require.ErrorIs(t, await(t, got, "a caller that leaves"), context.Canceled)
		back(t)
	})

	t.Run("a hold ends that cannot be renewed", func(t *testing.T) {
		held, unlock := take(t, l)
		r.standby.Freeze()
		require.Equal(t, lock.LossExpired, loss(t, held).Reason)
		require.ErrorIs(t, unlock(), lock.ErrLost)
		back(t)
	})

	for _, end := range []string{"pg_cancel_backend", "pg_terminate_backend"} {
		t.Run(end+" of the commit", func(t *testing.T) {
			r.standby.Freeze()
			got := waiter(t, l)
			r.waits(t)
			require.Equal(t, "t", r.primary.Run(t, "SELECT "+end+"(pid) "+waitingCommits))
			if end == "pg_cancel_backend" {
				err := await(t, got, "a commit that nobody waits for")
				require.ErrorIs(t, err, lock.ErrUnavailable)
				require.ErrorContains(t, err, "the write is not confirmed: canceling wait for synchronous replication")
				isFree(t, of, "a") // while the standby stands still
			}
			back(t)
			if end != "pg_cancel_backend" {
				require.NoError(t, await(t, got, "the next attempt"))
			}
		})

		// The request was given up by then: its next attempt finds the lock taken, by itself, on this server alone.
		t.Run(end+" of a commit that was given up", func(t *testing.T) {
			r.standby.Freeze()
			got := waiter(t, c.Lock("a", lock.Lease(patience)))
			r.waits(t)
			drain(attempts)
			failed(t, attempts)
			r.primary.Run(t, "SELECT "+end+"(pid) "+waitingCommits)
			eventually(t, func() bool {
				return r.primary.Run(t, "SELECT until > clock_timestamp() FROM holdfast_lock WHERE name = 'a'") == "t"
			}, "it is visible")
			drain(attempts)
			failed(t, attempts)
			failed(t, attempts)
			select {
			case err := <-got:
				require.Error(t, err, "what the standby has not is not granted")
			default:
			}
			r.standby.Thaw()
			if err := await(t, got, "the lock"); err != nil { // it had given up
				require.ErrorIs(t, err, lock.ErrUnavailable)
			}
			isFree(t, of, "a")
			taken(t, l)
		})
	}
}

func drain[T any](from <-chan T) {
	for len(from) > 0 {
		<-from
	}
}

// failed waits for a request that failed.
func failed(t *testing.T, attempts <-chan error) {
	t.Helper()
	for await(t, attempts, "an attempt that fails") == nil {
	}
}

// That a role's statements have a limit does not end the wait for a standby.
func TestALimitOfStatementsIsNoneOfCommits(t *testing.T) {
	t.Parallel()
	r := newReplicated(t, true)
	r.primary.Run(t, "CREATE ROLE hasty LOGIN; GRANT SELECT, INSERT, UPDATE ON holdfast_lock TO hasty; "+
		"ALTER ROLE hasty SET statement_timeout = '100ms'; ALTER ROLE hasty SET client_min_messages = 'error'")
	c := client(t, strings.Replace(r.primary.URL(), "postgres@", "hasty@", 1), pglock.Options{})
	taken(t, c.Lock("a"))
	r.standby.Freeze()
	got := waiter(t, c.Lock("a"))
	eventually(t, func() bool {
		return r.primary.Run(t, "SELECT count(*) "+waitingCommits+
			" AND clock_timestamp() - state_change > interval '300 ms'") != "0"
	}, "a commit waits for longer")
	r.standby.Thaw()
	require.NoError(t, await(t, got, "the lock"))

	r.standby.Freeze()
	got = waiter(t, c.Lock("a"))
	r.waits(t)
	r.primary.Run(t, "SELECT pg_cancel_backend(pid) "+waitingCommits)
	err := await(t, got, "a commit that nobody waits for")
	require.ErrorIs(t, err, lock.ErrUnavailable, "though the role is told of no warnings")
	r.standby.Thaw()
}

// The primary ends, or stands still for good, and a synchronous standby is promoted: no hold is lost, and the pool
// finds the new primary.
func TestASynchronousStandbyIsPromoted(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*pgtest.Server){
		"after a crash": (*pgtest.Server).Crash, "of one that stands still": (*pgtest.Server).Freeze,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newReplicated(t, true)
			confirmed := make(chan struct{}, 1000)
			var strayed atomic.Int64
			a := client(t, r.both(t), pglock.Options{ReleaseTimeout: patience, Observer: &lock.Observer{
				Renewed: func(r lock.Renewal) {
					if r.Err == nil {
						confirmed <- struct{}{}
					}
				},
				Command: func(c lock.Command) {
					if c.Script == "release" && c.Err != nil {
						strayed.Add(1)
					}
				},
			}})
			b := client(t, r.both(t), pglock.Options{})
			held, unlock := take(t, a.Lock("a"))
			kept, release := take(t, a.Lock("kept"))
			token := fence(t, a.Lock("a"), held)
			got := waiter(t, b.Lock("a"))
			listens(t, r.primary.URL(), "a")
			end(r.primary)
			drain(confirmed)
			fresh, ctx := make(chan error, 1), within(t)
			go func() {
				_, _, err := b.Lock("fresh").Lock(ctx) // until the client is closed
				fresh <- err
			}()
			r.standby.Promote(t)
			promoted := time.Now()
			require.NoError(t, await(t, fresh, "a lock that is new there"))
			t.Logf("a new lock %v after the standby was promoted", time.Since(promoted).Round(time.Millisecond))
			for range 2 {
				await(t, confirmed, "a renewal by the new primary")
			}
			require.NoError(t, held.Err())
			require.NoError(t, kept.Err())
			require.Equal(t, fmt.Sprint(token), r.standby.Run(t, "SELECT fence FROM holdfast_lock WHERE name = 'a'"))
			require.NoError(t, unlock())
			require.NoError(t, await(t, got, "the waiter"))
			after, again := take(t, b.Lock("a"))
			require.Greater(t, fence(t, b.Lock("a"), after), token)
			require.NoError(t, errors.Join(again(), release()))
			require.NoError(t, a.Close())
			require.Zero(t, strayed.Load(), "no release goes to the old primary when the new one has answered")
		})
	}
}

// An asynchronous standby is promoted that lacks the last commits. The holder is told as soon as its client notices the
// new primary, by any request, long before its next renewal; what was released is released there, too; and tokens grow.
func TestAnAsynchronousStandbyIsPromotedThatLags(t *testing.T) {
	t.Parallel()
	r := newReplicated(t, false)
	var renewals atomic.Int64
	a := client(t, r.both(t), pglock.Options{Lease: unpolled, Observer: &lock.Observer{
		Renewed: func(lock.Renewal) { renewals.Add(1) },
	}})
	b := client(t, r.both(t), pglock.Options{})
	_, leave := take(t, a.Lock("left"))
	r.caughtUp(t)
	r.standby.Crash()
	require.NoError(t, leave())
	held, unlock := take(t, a.Lock("a"))
	token := fence(t, a.Lock("a"), held)
	r.primary.Crash()
	r.standby.Restart()
	r.standby.Promote(t)
	require.Zero(t, renewals.Load())

	// Both are said to be held by somebody, or free, by a server that knows no better.
	after, again := take(t, b.Lock("a"))
	require.Greater(t, fence(t, b.Lock("a"), after), token)
	_, _, _ = a.Lock("anything").TryLock(within(t))
	require.Equal(t, lock.LossGone, loss(t, held).Reason)
	require.ErrorIs(t, unlock(), lock.ErrLost)
	require.NoError(t, after.Err(), "the new holder's hold is not touched")
	isFree(t, r.standby.URL(), "left")
	require.NoError(t, again())
}
