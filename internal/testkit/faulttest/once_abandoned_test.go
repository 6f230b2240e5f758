package faulttest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/rlock"
)

// onceAbandonments are the faults under which a call hangs until its caller gives it up. In all of them
// Redis carries the request out, before the end of the call or after it.
var onceAbandonments = []onceFault{
	{name: "reply lost", times: 1, action: onceAlways(faultproxy.DropReply)},
	{name: "reply late", times: 1, when: []onceMoment{whenFree},
		action: func(g onceGates) faultproxy.Action { return faultproxy.HoldReply(g[whenFree]) }},
	{name: "request late", times: 1, when: []onceMoment{whenFree, underOwn, underRival}, late: true,
		action: onceLate(faultproxy.DropRequest)},
}

// abandon makes a call, ends its context when the fault has struck, and checks that the call returns
// then, and does not wait for the reply.
func (l *onceLab) abandon(
	parent context.Context, s *onceShot,
	call func(ctx context.Context) (context.Context, func() error, error),
) {
	l.Helper()
	ctx, giveUp := context.WithCancel(parent)
	defer giveUp()
	returned := make(chan error, 1)
	go func() {
		_, unlock, err := call(ctx)
		if err == nil {
			err = unlock()
		}
		returned <- err
	}()
	s.struck(l)
	giveUp()
	select {
	case err := <-returned:
		require.ErrorIs(l, err, context.Canceled)
		require.ErrorIs(l, err, rlock.ErrUnavailable)
	case <-time.After(oncePatience):
		require.Fail(l, "it does not return")
	}
}

// G3, G4: an acquisition that is given up in flight, whether Redis grants it before or after that,
// leaves nothing behind and touches nobody (bug 11; interleaving 14).
func TestAbandonedAcquisitionLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, fault := range onceAbandonments {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			l := newOnceLab(t)
			s := l.inject(fault, luacall.SHA("acquire"))
			l.abandon(t.Context(), s, l.lock.Lock)
			s.deliver(t, whenFree)
			l.free(true)
			l.later(s, l.lock, underOwn)
			l.later(s, l.rival, underRival)
			l.nothingLeft()
		})
	}
}

// The same where the reclaimer looks first and the request comes after that: it goes on to look, until
// nothing can come any more (interleaving 14c).
func TestAbandonedAcquisitionThatComesAfterAFirstLook(t *testing.T) {
	t.Parallel()
	l := newOnceLab(t)
	before := l.released()
	s := l.inject(onceFault{
		times: 1, when: []onceMoment{whenFree, underRival}, action: onceLate(faultproxy.CutBefore),
	}, luacall.SHA("acquire"))
	acquire := faultproxy.Script(luacall.SHA("acquire"))
	again := l.proxy.On(acquire, faultproxy.CutBefore).Times(-1) // so that it does not succeed instead
	l.abandon(t.Context(), s, l.lock.Lock)
	l.releases(before + 1)
	s.deliver(t, whenFree)
	l.free(true)
	again.Times(0)
	l.later(s, l.lock, underOwn)
	l.later(s, l.rival, underRival)
	l.nothingLeft()
}

// The same for an import. What it took over and nobody learned of is released, not left to its lease.
func TestAbandonedImportLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, fault := range onceAbandonments {
		t.Run(fault.name, func(t *testing.T) {
			t.Parallel()
			l := newOnceLab(t)
			from := l.take(l.rival)
			passport, err := l.rival.Export(from.ctx)
			require.NoError(t, err)
			s := l.inject(fault, luacall.SHA("adopt"))
			l.abandon(t.Context(), s,
				func(ctx context.Context) (context.Context, func() error, error) {
					return l.lock.Import(ctx, passport)
				})
			s.deliver(t, whenFree)
			l.free(true)
			l.later(s, l.lock, underOwn)
			l.later(s, l.rival, underRival)
			l.nothingLeft()
		})
	}
}
