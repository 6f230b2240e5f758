package rlock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/rlock"
)

// G9, bugs 8, 9 and 23: callers of one client pass a lock to one another all the time, and release it and take it
// again at once. Every holder is renewed for as long as it stays, however the one before it left: by an unlock, or
// with a renewal that failed.
func TestEveryHoldIsRenewedHoweverTheOneBeforeEnded(t *testing.T) {
	t.Parallel()
	for _, callers := range []int{1, 2, 5} {
		for _, trouble := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d callers, trouble %v", callers, trouble), func(t *testing.T) {
				t.Parallel()
				inBubble(t, func(t *testing.T, sim *timeSim) {
					client := sim.client(t, rlock.ClientOptions{})
					began := sim.count("renew")
					var all sync.WaitGroup
					for caller := range uint64(callers) {
						all.Go(func() { timeStays(t, sim, client, rand.New(rand.NewPCG(caller, 8)), trouble) })
					}
					all.Wait()
					require.Positive(t, sim.count("renew")-began)
					require.False(t, sim.holds("order"))
				})
			})
		}
	}
}

// timeStays takes the lock many times, for no time or for several leases.
func timeStays(t *testing.T, sim *timeSim, client *rlock.Client, random *rand.Rand, trouble bool) {
	const lease = 30 * time.Second
	lock := rlock.New(client, "order")
	for range 60 {
		held, unlock, err := lock.Lock(context.Background())
		if err != nil {
			t.Error(err)
			return
		}
		if random.IntN(3) == 0 {
			time.Sleep(time.Duration(random.Int64N(int64(4 * lease))))
		}
		hold, err := lock.Held(held)
		if err != nil || held.Err() != nil {
			t.Errorf("it was not renewed: %v, %v", err, context.Cause(held))
		}
		if got := sim.Miniredis().HGet("order", hold.ID); got != "1" {
			t.Errorf("Redis counts %q", got)
		}
		if trouble && random.IntN(8) == 0 { // the last renewals of this hold fail
			sim.suffer(timeOnly("renew", simredis.CutAfter))
			time.Sleep(lease / 2)
			sim.suffer(nil)
		}
		if err := unlock(); err != nil {
			t.Error(err)
		}
	}
}

// G9, bug 14: levels that were entered and left again leave nothing behind that goes on renewing, in
// whatever order they were left.
func TestLevelsThatWereLeftAreNotRenewed(t *testing.T) {
	t.Parallel()
	for name, order := range map[string][]int{
		"innermost first": {2, 1, 0}, "outermost first": {0, 1, 2}, "the middle first": {1, 2, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				lock := rlock.New(sim.client(t, rlock.ClientOptions{}), "order")
				ctx := context.Background()
				var holds []timeHold
				for range order {
					h := timeLock(t, ctx, lock)
					holds, ctx = append(holds, h), h.ctx
				}
				time.Sleep(time.Minute + 5*time.Second) // between two renewals
				for _, i := range order {
					require.NoError(t, holds[i].unlock())
				}
				renewals := sim.count("renew")
				require.Positive(t, renewals)
				time.Sleep(time.Hour)
				require.Equal(t, renewals, sim.count("renew"))
				require.False(t, sim.holds("order"))
			})
		})
	}
}
