package faulttest_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// G5, need 7: the release has a context of its own. That of the call ended long ago, before or after
// the grant, and it is another goroutine that unlocks.
func TestUnlockWorksLongAfterTheContextEnded(t *testing.T) {
	t.Parallel()
	p := newFaultyPath(t)
	client := p.client(rlock.ClientOptions{Lease: faultNever})
	next := rlock.New(p.straight(rlock.ClientOptions{MaxPoll: faultNever}), "ended")
	for _, nested := range []bool{false, true} {
		lock := rlock.New(client, "ended")
		ctx, cancel := context.WithCancel(t.Context())
		held, unlock, err := lock.Lock(ctx)
		require.NoError(t, err)
		if nested {
			inner, unlockInner, err := lock.Lock(held)
			require.NoError(t, err)
			cancel()
			<-inner.Done()
			require.NoError(t, releaseElsewhere(unlockInner))
		}
		cancel()
		<-held.Done()
		require.ErrorIs(t, context.Cause(held), context.Canceled)
		waiting := faultCall(t.Context(), next.Lock)
		p.listened("ended")
		require.True(t, p.exists("ended"), "the end of the context is not the end of the hold")
		require.NoError(t, releaseElsewhere(unlock))
		faultEnters(t, waiting, faultSoon)
		require.False(t, p.exists("ended"))
		require.ErrorIs(t, unlock(), rlock.ErrNotHeld)
	}
}

func releaseElsewhere(unlock func() error) error {
	done := make(chan error)
	go func() { done <- unlock() }()
	return <-done
}

// releaseBounded unlocks, which has to fail within its timeout.
func releaseBounded(t *testing.T, unlock func() error, timeout time.Duration) {
	t.Helper()
	start, done := time.Now(), make(chan error, 1)
	go func() { done <- unlock() }()
	select {
	case err := <-done:
		require.ErrorIs(t, err, rlock.ErrUnconfirmed)
		for _, other := range []error{rlock.ErrUnavailable, rlock.ErrLost, rlock.ErrBusy} {
			require.NotErrorIs(t, err, other)
		}
		require.NotErrorIs(t, err, context.DeadlineExceeded, "a limit of ours, not the caller's")
	case <-time.After(timeout + 3*time.Second):
		t.Fatalf("unlock did not return %v after it was called", time.Since(start))
	}
	require.ErrorIs(t, unlock(), rlock.ErrNotHeld)
}

// G5, need 7, bug 2: nothing gets through. Unlock gives up in time and the context has ended; when the path heals the
// hold is freed, long before its lease ends, and a waiter elsewhere is told.
func TestUnlockThatReachesNobodyIsMadeUpFor(t *testing.T) {
	t.Parallel()
	const timeout = 400 * time.Millisecond
	faults := map[string]struct{ inflict, heal func(p *faultyPath) }{
		"blackhole": {
			func(p *faultyPath) { p.proxy.Blackhole(true) },
			func(p *faultyPath) { p.proxy.Blackhole(false) },
		},
		"refused": {
			func(p *faultyPath) { p.proxy.Refuse(true); p.proxy.CutAll() },
			func(p *faultyPath) { p.proxy.Refuse(false) },
		},
		"stopped server": {
			func(p *faultyPath) { p.server.Stop() },
			func(p *faultyPath) { p.server.Continue() },
		},
	}
	for fault, does := range faults {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			p := newFaultyPath(t)
			client := p.client(rlock.ClientOptions{Lease: faultNever, ReleaseTimeout: timeout})
			next := p.straight(rlock.ClientOptions{Lease: faultNever, MaxPoll: faultNever})
			held, unlock := p.hold(rlock.New(client, "unreachable"))
			waiting := faultCall(t.Context(), rlock.New(next, "unreachable").Lock)
			p.listened("unreachable")
			does.inflict(p)
			releaseBounded(t, unlock, timeout)
			require.ErrorIs(t, context.Cause(held), rlock.ErrReleased)
			does.heal(p)
			faultEnters(t, waiting, faultSoon)
			p.cleansUp(faultSoon)
		})
	}
}

// G5, G8: the same when the next waiter is in this process. The old hold is not left, and the waiter gets the lock.
func TestReleaseThatReachesNobodyLetsAWaiterOfTheProcessIn(t *testing.T) {
	t.Parallel()
	const timeout = 400 * time.Millisecond
	for _, fault := range []string{"request lost", "reply lost", "frozen server"} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			p := newFaultyPath(t)
			client := p.client(rlock.ClientOptions{
				Lease: faultNever, ReleaseTimeout: timeout, MaxPoll: faultNever,
			})
			lock := rlock.New(client, "released")
			held, unlock := p.hold(lock)
			waiting := faultCall(t.Context(), lock.Lock)
			p.queued(lock, 1)
			releasing := faultproxy.Script(luacall.SHA("release"))
			var lost *faultproxy.Rule
			switch fault {
			case "request lost":
				lost = p.proxy.On(releasing, faultproxy.DropRequest).Times(-1)
			case "reply lost":
				lost = p.proxy.On(releasing, faultproxy.DropReply).Times(-1)
			default:
				p.server.Stop()
			}
			releaseBounded(t, unlock, timeout)
			require.ErrorIs(t, context.Cause(held), rlock.ErrReleased)
			if lost != nil {
				require.Positive(t, lost.Fired())
				lost.Times(0)
			} else {
				p.server.Continue()
			}
			faultEnters(t, waiting, faultSoon)
			p.cleansUp(faultSoon)
		})
	}
}

// G5, need 4, bug 10: the release never gets through while renewals do. The hold is not renewed any more,
// so that its lease ends it.
func TestHoldIsNotRenewedAfterAnUnlockThatFailed(t *testing.T) {
	t.Parallel()
	const lease = 1500 * time.Millisecond
	p := newFaultyPath(t)
	var renewed atomic.Int64
	client := p.client(rlock.ClientOptions{
		Lease: lease, ReleaseTimeout: 200 * time.Millisecond,
		Observer: &rlock.Observer{Renewed: func(rlock.Renewal) { renewed.Add(1) }},
	})
	_, unlock := p.hold(rlock.New(client, "unrenewed"))
	redistest.Eventually(t, faultSoon, func() bool { return renewed.Load() > 0 }, "no renewal")
	lost := p.proxy.On(faultproxy.Script(luacall.SHA("release")), faultproxy.DropRequest).Times(-1)
	renewals := p.scripts("renew")
	releaseBounded(t, unlock, 200*time.Millisecond)
	// A renewal may have been on its way when unlock was called.
	require.LessOrEqual(t, p.scripts("renew"), renewals+1)
	renewals = p.scripts("renew")
	p.cleansUp(faultSoon)
	require.Equal(t, renewals, p.scripts("renew"), "a hold that was unlocked is renewed")
	lost.Times(0)
}

// G5, bug 51: Redis is dead. Unlock says so in time; and when it is back, empty, the lock works as before.
func TestUnlockWhileRedisIsDead(t *testing.T) {
	t.Parallel()
	const timeout = 400 * time.Millisecond
	p := newFaultyPath(t)
	client := p.client(rlock.ClientOptions{ReleaseTimeout: timeout})
	lock := rlock.New(client, "dead")
	held, unlock := p.hold(lock)
	p.server.Kill()
	releaseBounded(t, unlock, timeout)
	require.ErrorIs(t, context.Cause(held), rlock.ErrReleased)
	p.server.Restart()
	faultEnters(t, faultCall(t.Context(), lock.Lock), faultSoon)
	p.cleansUp(faultSoon)
}

// G4, interleaving 14a: the first attempt is delayed, a second one gets the lock. The copy of the first is carried
// out after the unlock and finds the lock free: what it takes is given back.
func TestLateCopyOfAnAcquisitionIsGivenBackAfterTheUnlock(t *testing.T) {
	t.Parallel()
	p := newFaultyPath(t)
	// The lease lets a command, and so its copy, be 3 s late.
	client := p.client(rlock.ClientOptions{Lease: faultNever})
	p.warmUp(client, 1)
	lock := rlock.New(client, "late")
	gate := faultproxy.NewGate()
	late := p.proxy.On(acquisition(), func(x *faultproxy.Exchange) {
		faultproxy.Late(gate)(x)
		faultproxy.CutBefore(x) // so that the client does not wait for a reply first
	})
	held, unlock := p.hold(lock)
	require.GreaterOrEqual(t, late.Fired(), 1)
	hold, err := lock.Held(held)
	require.NoError(t, err)
	require.NoError(t, unlock())
	grants := p.server.Calls(t, "hset")
	gate.Open()
	<-gate.Delivered()
	require.Equal(t, grants+1, p.server.Calls(t, "hset"), "the copy came too late to take the lock")
	p.cleansUp(faultSoon)

	held, unlock = p.hold(lock)
	again, err := lock.Held(held)
	require.NoError(t, err)
	require.Greater(t, again.Fence, hold.Fence)
	require.NoError(t, unlock())
}

// The same when the copy is later than its not-after: it takes nothing, and nobody has to clean up.
func TestCopyOfAnAcquisitionAfterItsNotAfterTakesNothing(t *testing.T) {
	t.Parallel()
	p := newFaultyPath(t)
	client := p.client(rlock.ClientOptions{Lease: 1200 * time.Millisecond})
	p.warmUp(client, 1)
	gate := faultproxy.NewGate()
	late := p.proxy.On(acquisition(), faultproxy.Late(gate))
	_, unlock := p.hold(rlock.New(client, "later")) // after the first attempt's time was over
	require.Equal(t, 1, late.Fired())
	require.NoError(t, unlock())
	grants := p.server.Calls(t, "hset")
	gate.Open()
	<-gate.Delivered()
	require.Equal(t, grants, p.server.Calls(t, "hset"))
	require.False(t, p.exists("later"))
}
