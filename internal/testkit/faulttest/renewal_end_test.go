package faulttest_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	renewalEndLease   = 2400 * time.Millisecond
	renewalEndPeriod  = renewalEndLease / 3
	renewalEndTimeout = 200 * time.Millisecond
)

// renewalEnd is a hold that is the only one of its client, so that every renewal is its own.
type renewalEnd struct {
	*faultyPath
	client *rlock.Client
	lock   *rlock.Lock
}

// release has a fault strike every release from now on.
func (r *renewalEnd) release(fault faultproxy.Action) {
	r.proxy.On(faultproxy.Script(luacall.SHA("release")), fault).Times(-1)
}

// kept takes the lock, and returns when it was renewed.
func (r *renewalEnd) kept() (context.Context, func() error) {
	r.t.Helper()
	held, unlock := r.hold(r.lock)
	before := r.scripts("renew")
	redistest.Eventually(r.t, faultSoon, func() bool { return r.scripts("renew") > before }, "no renewal")
	return held, unlock
}

// abandoned gives an acquisition up that Redis has granted and not answered.
func (r *renewalEnd) abandoned() {
	r.t.Helper()
	granted := r.proxy.On(acquisition(), faultproxy.DropReply)
	ctx, cancel := context.WithCancel(r.t.Context())
	defer cancel()
	grants := faultCall(ctx, r.lock.Lock)
	granted.Wait(r.t, 1)
	cancel()
	require.ErrorIs(r.t, faultAwait(r.t, grants, faultSoon).err, context.Canceled)
}

// renewalEnds are the ways in which a hold comes to its end.
var renewalEnds = map[string]func(r *renewalEnd){
	"unlock": func(r *renewalEnd) {
		_, unlock := r.kept()
		require.NoError(r.t, unlock())
	},
	"unlock whose reply is lost": func(r *renewalEnd) {
		_, unlock := r.kept()
		r.release(faultproxy.DropReply)
		releaseBounded(r.t, unlock, renewalEndTimeout)
	},
	"unlock that is not heard": func(r *renewalEnd) {
		_, unlock := r.kept()
		r.release(faultproxy.DropRequest)
		releaseBounded(r.t, unlock, renewalEndTimeout)
	},
	"unlock that is cut off": func(r *renewalEnd) {
		_, unlock := r.kept()
		r.release(faultproxy.CutBefore)
		releaseBounded(r.t, unlock, renewalEndTimeout)
	},
	"three levels that are left": func(r *renewalEnd) {
		outer, unlock := r.kept()
		for range 2 {
			_, inner, err := r.lock.Lock(outer)
			require.NoError(r.t, err)
			defer func() { require.NoError(r.t, inner()) }()
		}
		require.NoError(r.t, unlock())
	},
	"an acquisition that is given up":              func(r *renewalEnd) { r.abandoned() },
	"one that is given up and cannot be made good": func(r *renewalEnd) { r.release(faultproxy.CutBefore); r.abandoned() },
	"panic": func(r *renewalEnd) {
		require.Panics(r.t, func() {
			_ = r.lock.Do(r.t.Context(), func(context.Context) error { panic("in the section") })
		})
	},
	"panic, and a release that is not heard": func(r *renewalEnd) {
		r.release(faultproxy.DropRequest)
		require.Panics(r.t, func() {
			_ = r.lock.Do(r.t.Context(), func(context.Context) error { panic("in the section") })
		})
	},
	"the end of the goroutine": func(r *renewalEnd) {
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			_ = r.lock.Do(r.t.Context(), func(context.Context) error { runtime.Goexit(); return nil })
		}()
		<-gone
	},
	"a loss": func(r *renewalEnd) {
		held, unlock := r.kept()
		require.NoError(r.t, r.direct.Del(r.t.Context(), r.lock.Name()).Err())
		<-held.Done()
		require.ErrorIs(r.t, unlock(), rlock.ErrLost)
	},
	"a loss that nobody unlocks": func(r *renewalEnd) {
		held, _ := r.kept()
		require.NoError(r.t, r.direct.Del(r.t.Context(), r.lock.Name()).Err())
		<-held.Done()
	},
	"a lost lock that another has": func(r *renewalEnd) {
		held, _ := r.kept()
		require.NoError(r.t, r.direct.Del(r.t.Context(), r.lock.Name()).Err())
		r.wakeupHoldAsJava(r.lock.Name(), renewalEndLease)
		<-held.Done()
	},
	"export": func(r *renewalEnd) {
		held, _ := r.kept()
		_, err := r.lock.Export(held)
		require.NoError(r.t, err)
	},
	"Close": func(r *renewalEnd) {
		_, _ = r.kept()
		require.Error(r.t, r.client.Close())
	},
}

// Need 4: however a hold ends, and whether or not Redis could be told: nothing renews it after that. The
// key is gone, or its time only ever grows less until it is, and no renewal is sent for anything.
func TestRenewalEndsWithTheHold(t *testing.T) {
	t.Parallel()
	for name, end := range renewalEnds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newFaultyPath(t)
			client := p.client(rlock.ClientOptions{
				Lease: renewalEndLease, ReleaseTimeout: renewalEndTimeout,
			})
			p.warmUp(client, 1)
			end(&renewalEnd{p, client, rlock.New(client, "ended")})
			renewals := p.scripts("renew")
			p.renewalFades("ended")
			// A renewal may have been on its way at the end, and then counts as none after it.
			require.LessOrEqual(t, p.scripts("renew"), renewals+1, "a hold that has ended is renewed")
			renewals = p.scripts("renew")
			time.Sleep(3 * renewalEndPeriod) // a watchdog that has anything left would renew it in this time
			require.Equal(t, renewals, p.scripts("renew"), "something is renewed for ever")
			require.Empty(t, p.lockKeys())
		})
	}
}

// renewalFades watches the key until it is gone: the rest of its lease never grows.
func (p *faultyPath) renewalFades(name string) {
	p.t.Helper()
	// Requests under way when the hold ended have arrived by then: nothing on this path takes time.
	time.Sleep(renewalEndPeriod / 5)
	last := renewalEndLease
	redistest.Eventually(p.t, renewalEndLease+wakeupSlack, func() bool {
		left, err := p.direct.PTTL(p.t.Context(), name).Result()
		require.NoError(p.t, err)
		require.LessOrEqual(p.t, left, last, "the lease has grown")
		last = left
		return left < 0 // there is none
	}, "the key is there for longer than its lease")
	require.False(p.t, p.exists(name))
}

// Need 17: a stuck holder whose watchdog still runs blocks the others for MaxHold and no lease longer:
// the hold is released, and a waiter elsewhere is woken.
func TestAStuckHolderKeepsTheLockNoLongerThanMaxHold(t *testing.T) {
	t.Parallel()
	const most = 700 * time.Millisecond
	p := newFaultyPath(t)
	opts := rlock.ClientOptions{Lease: faultNever, MaxPoll: faultNever}
	stuck := rlock.New(p.straight(opts), "stuck", rlock.MaxHold(most))
	next := rlock.New(p.straight(opts), "stuck")
	start := time.Now()
	held, unlock := p.hold(stuck)
	waiting := faultCall(t.Context(), next.Lock)
	g := faultAwait(t, waiting, faultSoon) // far less than the lease
	require.NoError(t, g.err)
	const tick = 10 * time.Millisecond // of the engine's wheel
	require.GreaterOrEqual(t, time.Since(start), most-tick)
	for _, err := range []error{context.Cause(held), unlock()} {
		var lost *rlock.LostError
		require.ErrorAs(t, err, &lost)
		require.Equal(t, rlock.LossMaxHold, lost.Reason)
	}
	require.NoError(t, g.held.Err())
	require.NoError(t, g.unlock())
}
