package rlock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// A handle's own lease is what Redis keeps, from the acquisition on and with every renewal, and what its holder can
// rely on when renewals stop.
func TestOwnLease(t *testing.T) {
	t.Parallel()
	for name, lease := range map[string]time.Duration{"longer": 5 * time.Minute, "shorter": 12 * time.Second} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				client := sim.client(t, rlock.ClientOptions{})
				hold := timeLock(t, t.Context(), rlock.New(client, "job", rlock.Lease(lease)))
				least := lease
				for range 600 {
					ttl := sim.Miniredis().TTL("job")
					require.LessOrEqual(t, ttl, lease)
					least = min(least, ttl)
					time.Sleep(100 * time.Millisecond)
					synctest.Wait()
				}
				// It is renewed every third of the client's lease, or of its own.
				require.GreaterOrEqual(t, least, lease-min(lease/3, 10*time.Second)-time.Second)
				require.NoError(t, hold.ctx.Err())

				sim.suffer(timeAlways(simredis.DropRequest))
				stop, confirmed := time.Now(), sim.confirmed("renew")
				<-hold.ctx.Done()
				timeLost(t, context.Cause(hold.ctx), rlock.LossExpired)
				require.GreaterOrEqual(t, time.Since(confirmed), lease-lease/100-timeMargin-2*timeTick)
				require.LessOrEqual(t, time.Since(stop), lease)
				sim.suffer(nil)
				timeLost(t, hold.unlock(), rlock.LossExpired)
			})
		})
	}
}

// A lost reply of a renewal is survived by the shortest lease that is allowed, because it is sent again in time.
func TestOwnLeaseThatIsShortSurvivesALostRenewal(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client := sim.client(t, rlock.ClientOptions{})
		hold := timeLock(t, t.Context(), rlock.New(client, "job", rlock.Lease(10*time.Second)))
		var dropped atomic.Bool
		sim.suffer(func(_ int, args []string) simredis.Verdict {
			if timeScript(args) == "renew" && dropped.CompareAndSwap(false, true) {
				return simredis.DropRequest
			}
			return simredis.Pass
		})
		time.Sleep(time.Minute)
		require.True(t, dropped.Load())
		require.NoError(t, hold.ctx.Err())
		require.NoError(t, hold.unlock())
	})
}

func TestOwnLeaseArguments(t *testing.T) {
	t.Parallel()
	client := timeClient(t, redistest.Shared(t).Addr(), rlock.ClientOptions{Lease: 9 * time.Second})
	for _, opts := range [][]rlock.Option{
		{rlock.Lease(3*time.Second - time.Millisecond)},
		{rlock.Lease(0)},
		{rlock.Lease(time.Minute), rlock.FixedLease(time.Minute)},
	} {
		_, _, err := rlock.New(client, "a", opts...).Lock(t.Context())
		requireArgument(t, err, "Lease")
		_, _, err = multilock.New([]*rlock.Lock{rlock.New(client, "a")}, opts...).Lock(t.Context())
		requireArgument(t, err, "Lease")
	}
	_, unlock, err := rlock.New(client, redistest.Key(t), rlock.Lease(3*time.Second)).Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, unlock())
}

// The client's MaxWait limits every kind of wait, unless a handle has one of its own.
func TestMaxWaitOfTheClient(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		holder := sim.client(t, rlock.ClientOptions{})
		client := sim.client(t, rlock.ClientOptions{MaxWait: 5 * time.Second})
		hold := timeLock(t, t.Context(), rlock.New(holder, "job"))
		permits := semaphore.New(client, "permits")
		require.NoError(t, permits.SetCapacity(t.Context(), 0))
		one := []*rlock.Lock{rlock.New(holder, "other"), rlock.New(client, "job")}
		for name, c := range map[string]struct {
			lock  rlock.Locker
			waits time.Duration
		}{
			"lock":          {rlock.New(client, "job"), 5 * time.Second},
			"its own":       {rlock.New(client, "job", rlock.MaxWait(7*time.Second)), 7 * time.Second},
			"set":           {multilock.New(one), 5 * time.Second},
			"a set's own":   {multilock.New(one, rlock.MaxWait(7*time.Second)), 7 * time.Second},
			"without limit": {rlock.New(holder, "job", rlock.MaxWait(time.Hour)), time.Hour},
		} {
			at := time.Now()
			_, _, err := c.lock.Lock(t.Context())
			require.ErrorIs(t, err, rlock.ErrBusy, name)
			require.InDelta(t, c.waits.Seconds(), time.Since(at).Seconds(), 0.5, name)
		}
		at := time.Now()
		_, _, err := permits.Acquire(t.Context(), 1)
		require.ErrorIs(t, err, rlock.ErrBusy)
		require.InDelta(t, 5, time.Since(at).Seconds(), 0.5)
		require.NoError(t, hold.unlock())
		require.NoError(t, permits.Delete(context.Background()))
	})
	_, err := rlock.NewClient(redistest.Shared(t).Client(t), &rlock.ClientOptions{MaxWait: -1})
	requireArgument(t, err, "ClientOptions.MaxWait")
}
