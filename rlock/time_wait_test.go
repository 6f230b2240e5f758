package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/rlock"
)

// MaxWait ends the wait with ErrBusy, and no hold: that lives on. A request that is under way at that instant is left a
// moment later.
func TestMaxWaitLimitsTheWaitAlone(t *testing.T) {
	inBubble(t, func(t *testing.T, sim *timeSim) {
		a, b := sim.client(t, rlock.ClientOptions{}), sim.client(t, rlock.ClientOptions{})
		impatient := func(c *rlock.Client) *rlock.Lock {
			return rlock.New(c, "order", rlock.MaxWait(90*time.Second))
		}
		hold := timeLock(t, t.Context(), impatient(a))
		for _, waiter := range []*rlock.Client{a, b} { // in the local line, and on Redis
			start := time.Now()
			ctx, unlock, err := impatient(waiter).Lock(t.Context())
			require.Equal(t, 90*time.Second, time.Since(start).Truncate(time.Millisecond))
			require.ErrorIs(t, err, rlock.ErrBusy)
			require.NotErrorIs(t, err, context.DeadlineExceeded, "no context of the caller's ended")
			require.Equal(t, t.Context(), ctx)
			require.ErrorIs(t, unlock(), rlock.ErrNotHeld)
		}
		time.Sleep(time.Hour)
		require.NoError(t, hold.ctx.Err())
		require.NoError(t, hold.unlock())
		require.NoError(t, timeLock(t, t.Context(), impatient(b)).unlock())
	})
}

// The first bound that is reached ends the wait, and the error tells which.
func TestContextEndsTheWaitBeforeMaxWait(t *testing.T) {
	inBubble(t, func(t *testing.T, sim *timeSim) {
		a, b := sim.client(t, rlock.ClientOptions{}), sim.client(t, rlock.ClientOptions{})
		hold := timeLock(t, t.Context(), rlock.New(a, "order"))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		_, _, err := rlock.New(b, "order", rlock.MaxWait(time.Hour)).Lock(ctx)
		require.Equal(t, time.Minute, time.Since(start))
		require.ErrorIs(t, err, rlock.ErrBusy)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NoError(t, hold.unlock())
	})
}

// G6, G7, need 22: a waiter that nobody wakes asks once per MaxPoll, however many stand behind it.
func TestIdleWaiterAsksOncePerPoll(t *testing.T) {
	for _, poll := range []time.Duration{time.Second, 7 * time.Second} {
		t.Run(poll.String(), func(t *testing.T) {
			inBubble(t, func(t *testing.T, sim *timeSim) {
				a := sim.client(t, rlock.ClientOptions{})
				b := sim.client(t, rlock.ClientOptions{MaxPoll: poll})
				hold := timeLock(t, t.Context(), rlock.New(a, "order"))
				ctx, cancel := context.WithCancel(t.Context())
				ended := make(chan error)
				const waiters = 50
				for range waiters {
					go func() {
						_, _, err := rlock.New(b, "order").Lock(ctx)
						ended <- err
					}()
				}
				time.Sleep(time.Minute) // the first one tries, subscribes and tries again
				for range 10 {
					before := sim.count("acquire")
					time.Sleep(time.Minute)
					asked := sim.count("acquire") - before
					require.LessOrEqual(t, asked, int(time.Minute/poll)+1)
					require.GreaterOrEqual(t, asked, int(time.Minute/poll)-1)
				}
				cancel()
				for range waiters {
					require.ErrorIs(t, <-ended, rlock.ErrBusy)
				}
				require.NoError(t, hold.unlock())
			})
		})
	}
}

// With every message lost a waiter gets in within MaxPoll after the release (G6).
func TestWaiterGetsInWithinAPollWithoutMessages(t *testing.T) {
	inBubble(t, func(t *testing.T, sim *timeSim) {
		a := sim.client(t, rlock.ClientOptions{})
		b := sim.client(t, rlock.ClientOptions{MaxPoll: 5 * time.Second})
		// A waiter hears nothing, and is not even told that it subscribed.
		sim.suffer(func(_ int, args []string) simredis.Verdict {
			if args[0] == "subscribe" {
				return simredis.DropRequest
			}
			return simredis.Pass
		})
		for range 20 {
			hold := timeLock(t, t.Context(), rlock.New(a, "order"))
			next := inspectNext(t, rlock.New(b, "order"))
			time.Sleep(13 * time.Second)
			released := time.Now()
			require.NoError(t, hold.unlock())
			h := <-next
			require.LessOrEqual(t, time.Since(released), 5*time.Second)
			require.NoError(t, h.unlock())
		}
	})
}

// Bug 54: Lock without a deadline waits for a busy lock for ever, and for a silent Redis as long as a lease.
func TestLockGivesUpWhenRedisIsSilentForALease(t *testing.T) {
	t.Parallel()
	for name, verdict := range timeSilences {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				const lease = 30 * time.Second
				client := sim.client(t, rlock.ClientOptions{Lease: lease})
				lock := rlock.New(client, "order")
				sim.suffer(timeAlways(verdict))
				start := time.Now()
				_, _, err := lock.Lock(context.Background())
				// An attempt takes 3 s at most, and so does the first one, which begins the silence.
				timeBetween(t, lease-time.Second, time.Since(start), lease+2*3*time.Second+time.Second)
				require.ErrorIs(t, err, rlock.ErrUnavailable)
				require.NotErrorIs(t, err, rlock.ErrBusy)
				require.NotErrorIs(t, err, context.DeadlineExceeded)
				sim.suffer(nil)
				time.Sleep(2 * time.Minute)
				require.False(t, sim.holds("order"), "nothing is left behind")

				sim.suffer(timeAlways(verdict))
				time.AfterFunc(lease-5*time.Second, func() { sim.suffer(nil) })
				hold := timeLock(t, context.Background(), lock)
				require.NoError(t, hold.unlock(), "a shorter silence is waited out")
			})
		})
	}
}

// A wait that Redis answered at first, and then no more, ends as unavailable; not as busy.
func TestSilenceWhileWaitingIsNotBusy(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		a, b := sim.client(t, rlock.ClientOptions{}), sim.client(t, rlock.ClientOptions{})
		hold := timeLock(t, t.Context(), rlock.New(a, "order"))
		time.AfterFunc(time.Hour, func() { sim.suffer(timeAlways(simredis.DropRequest)) })
		start := time.Now()
		_, _, err := rlock.New(b, "order").Lock(context.Background())
		require.ErrorIs(t, err, rlock.ErrUnavailable)
		require.NotErrorIs(t, err, rlock.ErrBusy)
		timeBetween(t, time.Hour+29*time.Second, time.Since(start), time.Hour+40*time.Second)
		sim.suffer(nil)
		timeLost(t, hold.unlock(), rlock.LossExpired)
	})
}
