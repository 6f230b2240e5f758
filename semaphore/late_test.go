package semaphore_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// longLived is a client through the proxy whose requests may be carried out for seconds.
func (l *lab) longLived() *rlock.Client {
	l.Helper()
	c := newClient(l, l.proxy.Addr(), &rlock.ClientOptions{Lease: time.Minute})
	// The first request is answered with the server's time only.
	require.NoError(l, semaphore.NewCounting(c, l.name+":known").Release(l.bounded(), 1))
	return c
}

// lateCopy has a copy of the next request of a script carried out when the gate opens.
func (l *lab) lateCopy(script string) *faultproxy.Gate {
	l.Helper()
	gate := faultproxy.NewGate()
	l.Cleanup(gate.Open)
	l.proxy.On(faultproxy.Script(luacall.SHA(script)), faultproxy.DuplicateLater(gate)).Times(1)
	return gate
}

// defect A2: a call that changed nothing counts as well. A copy of its request that the network delivers
// when something has changed since must do nothing either.
func TestACopyOfACallThatChangedNothingChangesNothing(t *testing.T) {
	t.Parallel()
	release := func(n int64) func(l *lab, other *semaphore.Counting) {
		return func(l *lab, other *semaphore.Counting) { require.NoError(l, other.Release(l.bounded(), n)) }
	}
	for name, c := range map[string]struct {
		script string
		start  int64
		call   func(l *lab, late *semaphore.Counting)
		after  func(l *lab, other *semaphore.Counting)
		want   int64
	}{
		"a drain of nothing": {"count_drain", 0, func(l *lab, late *semaphore.Counting) {
			n, err := late.Drain(l.bounded())
			require.NoError(l, err)
			require.Zero(l, n)
		}, release(5), 5},
		"an attempt that was refused": {"count_acquire", 0, func(l *lab, late *semaphore.Counting) {
			require.ErrorIs(l, late.TryAcquire(l.bounded(), 1), rlock.ErrBusy)
		}, release(1), 1},
		"a set of what was there": {"count_set", 3, func(l *lab, late *semaphore.Counting) {
			require.ErrorIs(l, late.Set(l.bounded(), 7), rlock.ErrBusy)
		}, func(l *lab, _ *semaphore.Counting) {
			require.NoError(l, l.direct.Del(l.Context(), l.name).Err())
			require.NoError(l, l.direct.Del(l.Context(), l.name+":x").Err())
		}, -1},
		"a release of too many": {"count_release", luacall.MaxCount - 1, func(l *lab, late *semaphore.Counting) {
			refused(l.T, late.Release(l.bounded(), 2), "the number would be too great")
		}, func(l *lab, other *semaphore.Counting) {
			require.NoError(l, other.Acquire(l.bounded(), luacall.MaxCount-1))
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, nil)
			l.loadScripts()
			other := semaphore.NewCounting(l.other, l.name)
			require.NoError(t, other.Set(l.bounded(), c.start))
			late := semaphore.NewCounting(l.longLived(), l.name)
			gate := l.lateCopy(c.script)
			c.call(l, late)
			c.after(l, other)
			gate.Open()
			arrives(t, gate.Delivered(), "the copy is carried out")
			if c.want < 0 {
				require.Zero(t, l.direct.Exists(t.Context(), l.name).Val(), "it is gone, and stays so")
				return
			}
			l.is(c.want)
		})
	}
}

// defect A2, of a Counting: who waited and gave up has nothing either.
func TestACopyOfACountThatWasGivenUpCountsForNobody(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	l.loadScripts()
	s := l.counting(1)
	late := semaphore.NewCounting(l.longLived(), l.name, rlock.MaxWait(500*time.Millisecond))
	gate := l.lateCopy("count_acquire")
	require.ErrorIs(t, late.Acquire(l.bounded(), 2), rlock.ErrBusy)
	require.NoError(t, s.Release(l.bounded(), 1))
	gate.Open()
	arrives(t, gate.Delivered(), "the copy is carried out")
	redistest.Eventually(t, patience, func() bool {
		n, err := s.Available(l.bounded())
		return err == nil && n == 2
	}, "what the copy took comes back")
}
