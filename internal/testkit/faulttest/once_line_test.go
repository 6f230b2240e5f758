package faulttest_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// Waiters are served one after the other though the replies of releases are lost: each gets a turn of
// its own with a token of its own.
func TestALineWithLostRepliesOfReleases(t *testing.T) {
	t.Parallel()
	l := newOnceLab(t)
	fault := onceFaults(false)[1] // cut after
	fault.times = 3
	s := l.inject(fault, luacall.SHA("release"))
	h := l.take(l.lock)
	var line []<-chan onceStood
	for range 3 {
		line = append(line, l.stand(t.Context()))
	}
	for _, next := range line {
		require.NoError(t, h.unlock())
		got := <-next
		require.NoError(t, got.err)
		l.turn(got.onceHold)
		h = got.onceHold
	}
	l.reserved()
	require.NoError(t, h.unlock())
	l.free(false)
	s.struck(t)
	l.nothingLeft()
}

// Interleaving 16: the waiter that is next leaves while it is unknown what became of the release before it. Another one
// gets the lock; the one who unlocked learns of nothing.
func TestTheNextLeavesDuringARelease(t *testing.T) {
	t.Parallel()
	for _, fault := range onceFaults(false) {
		if fault.when != nil && !fault.late {
			continue
		}
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			l := newOnceLab(t)
			from := l.take(l.lock)
			ctx, leave := context.WithCancel(t.Context())
			target, second := l.stand(ctx), l.stand(t.Context())
			s := l.inject(fault, luacall.SHA("release"))
			freed := make(chan error, 1)
			go func() { freed <- from.unlock() }()
			s.rule.Wait(t, 1)
			leave()
			require.NoError(t, <-freed)

			// The target left, or got the lock at the last moment and has a context that is over.
			if got := <-target; got.err == nil {
				require.NoError(t, got.unlock())
			} else {
				require.ErrorIs(t, got.err, context.Canceled)
			}
			got := <-second
			require.NoError(t, got.err)
			l.turn(got.onceHold)
			require.NoError(t, got.unlock())
			l.reserved()
			s.deliver(t, whenFree)
			l.free(false)
			l.later(s, l.lock, underOwn)
			l.later(s, l.rival, underRival)
			l.nothingLeft()
		})
	}
}

// R10: a copy of the acquisition that comes when the run is over takes nothing for long: the last turn has it
// released, though another one acquired.
func TestACopyOfTheAcquisitionThatBeganARunTakesNothing(t *testing.T) {
	t.Parallel()
	for _, fault := range onceFaults(true) {
		if !fault.late { // its client knows that one may come
			continue
		}
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			l := newOnceLab(t)
			blocker := l.take(l.rival)
			line := []<-chan onceStood{l.stand(t.Context()), l.stand(t.Context()), l.stand(t.Context())}
			redistest.Eventually(t, oncePatience, func() bool {
				return l.direct.PubSubNumSub(t.Context(), "redisson_lock__channel:{"+l.name+"}").
					Val()["redisson_lock__channel:{"+l.name+"}"] > 0
			}, "the first of them listens")
			s := l.inject(fault, luacall.SHA("acquire"))
			require.NoError(t, blocker.unlock())
			for _, next := range line {
				got := <-next
				require.NoError(t, got.err)
				held, err := l.lock.Held(got.ctx)
				require.NoError(t, err)
				require.Greater(t, held.Fence, l.fence)
				l.fence = held.Fence
				require.NoError(t, got.unlock())
			}
			for _, moment := range fault.when {
				s.deliver(t, moment)
			}
			l.free(true)
			l.passed()
			require.NoError(t, l.rival.Do(t.Context(), func(context.Context) error { return nil }))
			l.nothingLeft()
		})
	}
}
