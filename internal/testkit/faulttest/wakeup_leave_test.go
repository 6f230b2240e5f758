package faulttest_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// G6: two callers of one client wait, and the first leaves just when the lock is released, by another
// client or by its own. Whichever came first, the wake-up is not lost: the second gets in at once.
func TestWakeUpIsPassedOnByAWaiterThatLeaves(t *testing.T) {
	t.Parallel()
	opts := rlock.ClientOptions{Lease: faultNever, MaxPoll: faultNever}
	for _, where := range []string{"another client", "the same client"} {
		t.Run("released by "+where, func(t *testing.T) {
			t.Parallel()
			p := newFaultyPath(t)
			client := p.straight(opts)
			lock, holder := rlock.New(client, "leaves"), rlock.New(client, "leaves")
			if where == "another client" {
				holder = rlock.New(p.straight(opts), "leaves")
			}
			left := 0
			const rounds = 100
			for range rounds {
				if p.leaveAtTheRelease(holder, lock) {
					left++
				}
			}
			t.Logf("of %d the first left %d times", rounds, left)
			p.cleansUp(faultSoon)
		})
	}
}

// leaveAtTheRelease reports whether the first waiter left without the lock.
func (p *faultyPath) leaveAtTheRelease(holder, lock *rlock.Lock) bool {
	p.t.Helper()
	_, unlock := p.hold(holder)
	ctx, cancel := context.WithCancel(p.t.Context())
	defer cancel()
	first := faultCall(ctx, lock.Lock)
	p.queued(lock, 1)
	second := faultCall(p.t.Context(), lock.Lock)
	p.queued(lock, 2)
	released := make(chan error, 1)
	go func() { released <- unlock() }()
	time.Sleep(rand.N(time.Millisecond)) // sometimes before the first is woken, sometimes after
	cancel()
	g := faultAwait(p.t, first, faultSoon)
	if g.err == nil {
		require.NoError(p.t, g.unlock())
	} else {
		require.ErrorIs(p.t, g.err, context.Canceled)
	}
	require.NoError(p.t, <-released)
	faultEnters(p.t, second, faultSoon)
	return g.err != nil
}

// The same, step by step: the first was woken, its attempt is under way, and then it leaves.
func TestWakeUpIsPassedOnWithAnAttemptUnderWay(t *testing.T) {
	t.Parallel()
	steps := map[string]func(*faultproxy.Gate) faultproxy.Action{
		"not carried out yet": faultproxy.HoldRequest,
		"granted":             faultproxy.HoldReply,
	}
	for step, action := range steps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			p := newFaultyPath(t)
			opts := rlock.ClientOptions{Lease: faultNever, MaxPoll: faultNever}
			lock := rlock.New(p.client(opts), "woken")
			_, unlock := p.hold(rlock.New(p.straight(opts), "woken"))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			first := faultCall(ctx, lock.Lock)
			p.listened("woken")
			redistest.Eventually(t, faultSoon, func() bool {
				return p.server.Calls(t, "hgetall") >= 2
			}, "the first did not ask again after it subscribed")
			second := faultCall(t.Context(), lock.Lock)
			p.queued(lock, 2)

			gate := faultproxy.NewGate()
			asking := p.proxy.On(acquisition(), action(gate))
			require.NoError(t, unlock())
			asking.Wait(t, 1)
			cancel()
			require.ErrorIs(t, faultAwait(t, first, faultSoon).err, context.Canceled)
			gate.Open()
			faultEnters(t, second, faultSoon)
			p.cleansUp(faultSoon)
		})
	}
}

// wakeupLateContext ends at a moment of the test's choice, and blocks callers that wait for its end until
// then: so a wait begins with two reasons to go on at once.
type wakeupLateContext struct {
	context.Context
	asked chan struct{} // gets a value when somebody is about to wait
	over  chan struct{}
}

func (c *wakeupLateContext) Done() <-chan struct{} {
	select {
	case c.asked <- struct{}{}:
	default:
	}
	<-c.over
	return c.over
}

func (c *wakeupLateContext) Err() error {
	select {
	case <-c.over:
		return context.Canceled
	default:
		return nil
	}
}

// G6, G8: the lock passed to a waiter, and its context is over before it could look. If it leaves, the next one gets
// the lock.
func TestALockThatPassedToAWaiterThatLeavesGoesOn(t *testing.T) {
	t.Parallel()
	p := newFaultyPath(t)
	lock := rlock.New(p.straight(rlock.ClientOptions{Lease: faultNever, MaxPoll: faultNever}), "given")
	left := 0
	for range 40 {
		_, release := p.hold(lock)
		holder := faultCall(t.Context(), lock.Lock)
		p.queued(lock, 1)
		require.NoError(t, release())
		unlock := faultAwait(t, holder, faultSoon).unlock // of a hold that has tokens for others
		ctx := &wakeupLateContext{
			Context: t.Context(), asked: make(chan struct{}, 1), over: make(chan struct{}),
		}
		first := faultCall(ctx, lock.Lock)
		<-ctx.asked
		second := faultCall(t.Context(), lock.Lock)
		p.queued(lock, 2)
		require.NoError(t, unlock()) // with it the first has the lock
		close(ctx.over)
		if g := faultAwait(t, first, faultSoon); g.err == nil {
			require.NoError(t, g.unlock())
		} else {
			require.ErrorIs(t, g.err, context.Canceled)
			left++
		}
		faultEnters(t, second, faultSoon)
	}
	require.Positive(t, left, "it never left")
	p.cleansUp(faultSoon)
}

// G6: waiters behind a holder of their own client have no traffic with Redis. They learn of its loss
// with it, and the next gets in, while who lost it has not unlocked.
func TestWaitersBehindALocalHolderLearnOfItsLoss(t *testing.T) {
	t.Parallel()
	const lease = 1200 * time.Millisecond
	losses := map[string]struct {
		opts []rlock.Option
		lose func(p *faultyPath)
		want rlock.LossReason
	}{
		"deleted": {nil, func(p *faultyPath) {
			require.NoError(p.t, p.direct.Del(p.t.Context(), "behind").Err())
		}, rlock.LossGone},
		"expired behind its back": {nil, func(p *faultyPath) {
			require.NoError(p.t, p.direct.PExpire(p.t.Context(), "behind", time.Millisecond).Err())
		}, rlock.LossGone},
		"fixed lease over": {[]rlock.Option{rlock.FixedLease(lease)}, func(*faultyPath) {}, rlock.LossExpired},
		"held too long":    {[]rlock.Option{rlock.MaxHold(lease / 2)}, func(*faultyPath) {}, rlock.LossMaxHold},
		"renewals lost": {nil, func(p *faultyPath) {
			p.proxy.On(faultproxy.Script(luacall.SHA("renew")), faultproxy.DropRequest).Times(-1)
		}, rlock.LossExpired},
	}
	for loss, c := range losses {
		t.Run(loss, func(t *testing.T) {
			t.Parallel()
			p := newFaultyPath(t)
			client := p.client(rlock.ClientOptions{Lease: lease, MaxPoll: faultNever})
			held, unlock := p.hold(rlock.New(client, "behind", c.opts...))
			next := rlock.New(client, "behind", rlock.FixedLease(faultNever))
			waiting := []<-chan faultGrant{
				faultCall(t.Context(), next.Lock), faultCall(t.Context(), next.Lock),
			}
			p.queued(next, 2)
			c.lose(p)
			for range waiting {
				g := wakeupEither(t, waiting)
				require.Error(t, held.Err(), "the next is in, and the context of the one before goes on")
				require.NoError(t, g.err)
				require.NoError(t, g.unlock())
			}
			var lost *rlock.LostError
			require.ErrorAs(t, context.Cause(held), &lost)
			require.Equal(t, c.want, lost.Reason)
			require.ErrorIs(t, unlock(), rlock.ErrLost)
			p.cleansUp(faultSoon)
		})
	}
}

func wakeupEither(t *testing.T, waiting []<-chan faultGrant) faultGrant {
	t.Helper()
	select {
	case g := <-waiting[0]:
		return g
	case g := <-waiting[1]:
		return g
	case <-time.After(faultSoon):
		require.NoError(t, errors.New("nobody got in"))
		return faultGrant{}
	}
}
