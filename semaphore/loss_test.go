package semaphore_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// needs 6: with every message lost a waiter still gets in, by its poll.
func TestSwallowedMessagesDelayAWaiterByAPoll(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	l.proxy.SwallowMessages(true)
	s := l.leased(2)
	_, release, err := semaphore.New(l.other, l.name).Acquire(t.Context(), 2)
	require.NoError(t, err)
	waiter := l.waits(l.bounded(), s, 2)
	require.NoError(t, release())
	got := arrives(t, waiter, "it looks for itself")
	require.NoError(t, got.err)
	require.NoError(t, got.release())
	l.sums(2, 0)
}

// G2, G5: permits that cannot be renewed end for their holder before Redis gives them to others, and a
// release that comes back to life afterwards changes nothing.
func TestPermitsEndForTheirHolderFirst(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := l.leased(1)
	held, release, err := s.Acquire(t.Context(), 1)
	require.NoError(t, err)
	l.proxy.Blackhole(true)
	next := l.waits(l.bounded(), semaphore.New(l.other, l.name), 1)
	got := arrives(t, next, "the lease ends")
	require.NoError(t, got.err)
	require.ErrorIs(t, context.Cause(held), rlock.ErrLost, "two would hold it")
	require.ErrorIs(t, release(), rlock.ErrLost)
	l.proxy.Blackhole(false)
	l.quietly()
	l.sums(0, 1)
	require.NoError(t, got.ctx.Err())
	require.NoError(t, got.release())
	l.sums(1, 0)
}

// Redis forgot the permits: the holder hears of it with its next renewal.
func TestPermitsThatRedisForgotAreLost(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]func(l *lab){
		"the set":    func(l *lab) { l.direct.Del(l.Context(), l.leases()) },
		"the permit": func(l *lab) { l.direct.ZRem(l.Context(), l.leases(), l.member()) },
		"everything": func(l *lab) { l.direct.Del(l.Context(), l.leases(), l.name) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, nil)
			s := l.leased(2)
			held, release, err := s.Acquire(t.Context(), 2)
			require.NoError(t, err)
			forget(l)
			arrives(t, held.Done(), "the loss is noticed")
			var lost *rlock.LostError
			require.ErrorAs(t, context.Cause(held), &lost)
			require.Equal(t, rlock.LossGone, lost.Reason)
			require.ErrorIs(t, release(), rlock.ErrLost)
		})
	}
}
