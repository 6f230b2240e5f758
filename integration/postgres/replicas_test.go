package postgres_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgproxy"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

// lacking is what is said where one standby too few has a grant.
const lacking = "replicas confirmed in time that the write is on their disks"

// The setting that makes the server wait for a standby is emptied while a commit waits. Then the commit ends without a
// word, and no standby has it. With MinReplicas it is no grant. (defect G19)
func TestNobodyIsWaitedForAnyMore(t *testing.T) {
	t.Parallel()
	r := newReplicated(t, true)
	of := r.primary.URL()
	c := client(t, of, pglock.Options{MinReplicas: 1})
	taken(t, c.Lock("a"))
	r.standby.Freeze()
	ctx, tried := within(t), make(chan error, 1)
	go func() {
		_, _, err := c.Lock("a").TryLock(ctx)
		tried <- err
	}()
	r.waits(t)
	r.primary.Run(t, "ALTER SYSTEM SET synchronous_standby_names = ''; SELECT pg_reload_conf()")
	err := await(t, tried, "the answer")
	require.ErrorIs(t, err, lock.ErrUnavailable)
	require.ErrorContains(t, err, "0 of 1 "+lacking)
	isFree(t, of, "a")
	r.standby.Thaw()
	taken(t, c.Lock("a")) // which waits for the standby, though the server does not
}

// The server waits for any one of two standbys, and either may be promoted. With MinReplicas 2 what one of them lacks is
// no grant, and a hold that it was not told to prolong ends. (defect G19)
func TestEachStandbyThatMayBePromotedHasTheGrant(t *testing.T) {
	t.Parallel()
	r := newReplicated(t, true)
	second := r.primary.Standby(t, true)
	r.primary.Run(t, "ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (standby_1, standby_2)'; SELECT pg_reload_conf()")
	eventually(t, func() bool {
		return r.primary.Run(t, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'quorum'") == "2"
	}, "any one is waited for")
	c := client(t, r.primary.URL(), pglock.Options{MinReplicas: 2, Lease: 9 * time.Second})
	says(t, found(t, c), "standbys", lock.LevelOK, "2 of 2 standbys")
	held, unlock := take(t, c.Lock("held"))
	second.Freeze()
	_, _, err := c.Lock("a").TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrUnavailable)
	require.ErrorContains(t, err, "1 of 2 "+lacking)
	taken(t, client(t, r.primary.URL(), pglock.Options{}).Lock("b")) // the server itself goes on
	require.Equal(t, lock.LossExpired, loss(t, held).Reason)
	require.ErrorIs(t, unlock(), lock.ErrLost)
	second.Thaw()
	taken(t, c.Lock("a"))
	taken(t, c.Lock("held"))
}

// The last of several standbys is not waited for as long as the others are there, and is not counted. (defect G19)
func TestAPotentialStandbyIsNotCounted(t *testing.T) {
	t.Parallel()
	r := newReplicated(t, true)
	r.primary.Standby(t, true)
	r.primary.Run(t, "ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (standby_1, standby_2)'; SELECT pg_reload_conf()")
	eventually(t, func() bool {
		return r.primary.Run(t, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'potential'") == "1"
	}, "one is waited for")
	says(t, found(t, client(t, r.primary.URL(), pglock.Options{})), "standbys", lock.LevelOK, "1 of 2 standbys")
}

// The first call of a user who cannot see what standbys have says so, and writes nothing. An asynchronous standby
// counts, too.
func TestWhoCountsStandbys(t *testing.T) {
	t.Parallel()
	r := newReplicated(t, false)
	r.primary.Run(t, "CREATE ROLE locker LOGIN; GRANT SELECT, INSERT, UPDATE ON holdfast_lock TO locker")
	c := client(t, strings.Replace(r.primary.URL(), "postgres@", "locker@", 1), pglock.Options{MinReplicas: 1})
	_, _, err := c.Lock("a").TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrUnavailable)
	require.ErrorContains(t, err, `GRANT pg_read_all_stats TO "locker"`)
	require.Equal(t, "0", r.primary.Run(t, "SELECT count(*) FROM holdfast_lock"))
	r.primary.Run(t, "GRANT pg_read_all_stats TO locker")
	taken(t, c.Lock("a"))
	r.standby.Freeze()
	_, _, err = c.Lock("a").TryLock(within(t))
	require.ErrorContains(t, err, "0 of 1 "+lacking)
	r.standby.Thaw()
}

// A grant counts only with the answer that says which standbys have it. Where that is lost and the commit is known, the
// lock is taken back, and its caller is told; where all is lost, the same request is sent again, and finds what it took.
// (defect G19)
func TestACountOfStandbysWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	r := newReplicated(t, false)
	of := r.primary.URL()
	proxy := pgproxy.Start(t, r.primary.Addr())
	var renewed atomic.Int64
	c := client(t, proxy.To(of), pglock.Options{
		MinReplicas: 1, Lease: 9 * time.Second,
		Observer: &lock.Observer{Renewed: func(r lock.Renewal) {
			if r.Err == nil {
				renewed.Add(1)
			}
		}},
	})
	taken(t, c.Lock("a"))
	const acquiring, renewing, counting = "greatest(l.fence + 1", "RETURNING due.nth", "r.flush_lsn >= upto.lsn"

	behind := proxy.On(acquiring, pgproxy.CutAfterCommit)
	_, _, err := c.Lock("a").TryLock(within(t))
	behind.Wait(t, 1)
	require.ErrorIs(t, err, lock.ErrUnavailable)
	require.ErrorContains(t, err, lacking)
	isFree(t, of, "a")

	for _, lost := range []pgproxy.Action{pgproxy.CutAfter, pgproxy.DropAnswer} {
		rule := proxy.On(acquiring, lost)
		held, unlock := take(t, c.Lock("a"))
		rule.Wait(t, 1)
		token := fmt.Sprint(fence(t, c.Lock("a"), held))
		eventually(t, func() bool {
			return r.standby.Run(t, "SELECT fence FROM holdfast_lock WHERE name = 'a'") == token
		}, "the standby shows it")
		require.NoError(t, unlock())
	}

	for _, lost := range []pgproxy.Action{pgproxy.CutAfter, pgproxy.DropAnswer} {
		first := proxy.On(counting, pgproxy.Pass)
		again := proxy.On(counting, lost)
		r.standby.Freeze()
		_, _, err = c.Lock("a").TryLock(within(t))
		first.Wait(t, 1)
		again.Wait(t, 1)
		require.ErrorIs(t, err, lock.ErrUnavailable)
		r.standby.Thaw()
		isFree(t, of, "a")
		taken(t, c.Lock("a"))
	}

	held, unlock := take(t, c.Lock("a"))
	behind = proxy.On(renewing, pgproxy.CutAfterCommit)
	behind.Wait(t, 1)
	was := renewed.Load()
	eventually(t, func() bool { return renewed.Load() > was }, "it is renewed by another connection")
	require.NoError(t, held.Err())
	require.NoError(t, unlock())
}
