package rlock_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/lua"
)

// Waiters are served one after the other though the replies of releases are lost: each gets a turn of
// its own with a token of its own.
func TestALineWithLostRepliesOfReleases(t *testing.T) {
	t.Parallel()
	l := newOnceLab(t)
	fault := onceFaults(false)[1] // cut after
	fault.times = 3
	s := l.inject(fault, lua.SHA("release"))
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
			s := l.inject(fault, lua.SHA("release"))
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
