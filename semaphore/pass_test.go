package semaphore_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// passLab is a lab on a server of its own, whose scripts are counted.
type passLab struct {
	*lab
	s *semaphore.Semaphore
}

func newPassLab(t *testing.T, capacity int64) *passLab {
	t.Helper()
	l := newLab(t, redistest.Start(t))
	l.client = newClient(t, l.server.Addr(), &rlock.ClientOptions{
		Lease: time.Hour, MaxPoll: time.Hour,
	})
	return &passLab{l, l.leased(capacity)}
}

// scripts is how many were sent.
func (l *passLab) scripts() int64 { return l.server.Calls(l, "evalsha") + l.server.Calls(l, "eval") }

// settled waits until the first waiter has asked for the last time, and listens.
func (l *passLab) settled() {
	l.Helper()
	l.listened()
	before, same := l.scripts(), 0
	redistest.Eventually(l, patience, func() bool {
		now := l.scripts()
		if same++; now != before {
			before, same = now, 0
		}
		time.Sleep(10 * time.Millisecond)
		return same >= 10
	}, "somebody goes on asking")
}

func (l *passLab) acquire(n int64, opts ...rlock.Option) came {
	l.Helper()
	held, release, err := semaphore.New(l.client, l.name, opts...).Acquire(l.bounded(), n)
	require.NoError(l, err)
	return came{held, release, err}
}

func (l *passLab) in(c <-chan came) came {
	l.Helper()
	got := arrives(l, c, "its turn")
	require.NoError(l, got.err)
	return got
}

// holder is the id of the only one that holds permits, and how many.
func (l *passLab) holder() (string, int) {
	l.Helper()
	info, err := l.s.Inspect(l.Context())
	require.NoError(l, err)
	require.Len(l, info.Holders, 1)
	return info.Holders[0].ID, info.Holders[0].Count
}

// R6, R1: released permits pass to the first waiter, which listens to Redis, and to those behind it, without a
// request.
func TestPermitsPassWithoutARequest(t *testing.T) {
	t.Parallel()
	l := newPassLab(t, 3)
	at := l.acquire(3)
	id, count := l.holder()
	require.Equal(t, 3, count)
	first, second := l.waits(l.bounded(), l.s, 3), l.waits(l.bounded(), l.s, 3)
	l.settled()
	before := l.scripts()
	require.NoError(t, at.release())
	require.ErrorIs(t, context.Cause(at.ctx), rlock.ErrReleased)
	require.ErrorIs(t, at.release(), rlock.ErrNotHeld, "once")
	next := l.in(first)
	require.NoError(t, next.ctx.Err())
	l.settled()
	require.Equal(t, before, l.scripts(), "the one that is first now goes by what the one before was told")
	last, _ := l.holder()
	require.Equal(t, id, last)
	nothingYet(t, second, "nothing came back")
	require.NoError(t, next.release())
	require.NoError(t, l.in(second).release())
	l.soon(3, 0)
}

// R1: the first waiter decides. If it waits for another number, released permits become free, and no waiter behind
// it is served first.
func TestTheFirstInLineDecidesWhatPasses(t *testing.T) {
	t.Parallel()
	l := newPassLab(t, 3)
	one, two := l.acquire(1), l.acquire(2)
	large := l.waits(l.bounded(), l.s, 3)
	small := []<-chan came{l.waits(l.bounded(), l.s, 1), l.waits(l.bounded(), l.s, 2)}
	l.settled()
	require.NoError(t, one.release())
	l.soon(1, 2)
	l.settled()
	nothingYet(t, small[0], "it is behind the large one")
	require.NoError(t, two.release())
	got := l.in(large)
	l.settled()
	nothingYet(t, small[0], "all are taken")
	nothingYet(t, small[1], "all are taken")
	require.NoError(t, got.release())
	for _, c := range small {
		require.NoError(t, l.in(c).release())
	}
	l.soon(3, 0)
}

// R3: a request that differs from the grant is sent to Redis.
func TestPermitsThatAreNotPassedOn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ first, second []rlock.Option }{
		"the next one wants a lease that nobody renews": {second: []rlock.Option{rlock.FixedLease(time.Hour)}},
		"the holder had a fixed one":                    {first: []rlock.Option{rlock.FixedLease(2 * time.Hour)}},
		"the hold is limited":                           {first: []rlock.Option{rlock.MaxHold(time.Hour)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newPassLab(t, 1)
			at := l.acquire(1, test.first...)
			id, _ := l.holder()
			next := l.waits(l.bounded(), semaphore.New(l.client, l.name, test.second...), 1)
			l.settled()
			require.NoError(t, at.release())
			got := l.in(next)
			other, _ := l.holder()
			require.NotEqual(t, id, other)
			require.NoError(t, got.release())
			l.soon(1, 0)
		})
	}
}

// R4: goroutines that pass 4 permits to one another starve neither another process nor a request of their own
// process for all of them; there are never more holders than permits; and most turns cost no request.
func TestPassingPermitsStarvesNobody(t *testing.T) {
	t.Parallel()
	const capacity = 4
	l := newPassLab(t, capacity)
	other := semaphore.New(newClient(t, l.server.Addr(), nil), l.name)
	var stop atomic.Bool
	var inside, turns atomic.Int64
	use := func(s *semaphore.Semaphore, n int64) {
		err := s.Do(l.bounded(), n, func(context.Context) error {
			if now := inside.Add(n); now > capacity {
				t.Error("too many are in:", now)
			}
			turns.Add(1)
			time.Sleep(50 * time.Microsecond) // the work
			inside.Add(-n)
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	var all sync.WaitGroup
	before := l.scripts()
	for range 64 {
		all.Go(func() {
			for !stop.Load() {
				use(l.s, 1)
			}
		})
	}
	began := turns.Load()
	redistest.Eventually(t, patience, func() bool {
		more, scripts := turns.Load()-began, l.scripts()-before
		if more < 500 {
			return false
		}
		began, before = began+more, before+scripts
		return more > scripts
	}, "turns cost a request each")
	for range 10 {
		use(other, 1)
		if t.Failed() {
			break // it waited for long enough
		}
	}
	for range 10 {
		use(l.s, capacity)
	}
	stop.Store(true)
	all.Wait()
	l.soon(capacity, 0)
}

// R5: the turn that holds the permits learns that they are gone, and the others wait for Redis again.
func TestPermitsThatAreTakenAwayAfterTheyPassed(t *testing.T) {
	t.Parallel()
	l := newPassLab(t, 1)
	at := l.acquire(1)
	id, _ := l.holder()
	first, second := l.waits(l.bounded(), l.s, 1), l.waits(l.bounded(), l.s, 1)
	l.settled()
	require.NoError(t, at.release())
	next := l.in(first)
	require.NoError(t, l.s.Break(l.bounded(), id))
	require.ErrorIs(t, next.release(), rlock.ErrLost)
	require.NoError(t, l.in(second).release())
	l.soon(1, 0)
}

// A wait that is given up as the permits pass loses none.
func TestAWaiterThatLeavesAsPermitsPassLosesNone(t *testing.T) {
	t.Parallel()
	l := newPassLab(t, 1)
	for range 50 {
		at := l.acquire(1)
		ctx, leave := context.WithCancel(l.bounded())
		first, second := l.waits(ctx, l.s, 1), l.waits(l.bounded(), l.s, 1)
		go leave()
		require.NoError(t, at.release())
		if got := arrives(t, first, "it got in, or left"); got.err == nil {
			require.NoError(t, got.release())
		}
		require.NoError(t, l.in(second).release())
	}
	l.soon(1, 0)
}
