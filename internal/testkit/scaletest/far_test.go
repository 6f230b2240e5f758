package scaletest_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-go/holdfast/rlock"
)

// defect B8: a node is not taken for slow because it is far away, neither at first nor after it stalled: a
// caller's turn takes two round trips, and not many more where there are many callers.
func TestAFarNodeIsNotTakenForASlowOne(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		trip    time.Duration
		callers int
	}{{25 * time.Millisecond, 300}, {220 * time.Millisecond, 600}} {
		t.Run(test.trip.String(), func(t *testing.T) {
			farAway(t, test.trip, rlock.ClientOptions{}, func(t *testing.T, lab *farLab) {
				ideal := float64(test.callers) / (2 * test.trip).Seconds()
				window := 10 * test.trip
				all := lab.crowd("far", test.callers)
				defer all.leaves()
				time.Sleep(20 * test.trip)
				require.Greater(t, all.rate(window), ideal*0.4)
				require.Zero(t, all.refused.Load())
				for range 3 {
					lab.server.Freeze()
					time.Sleep(400 * time.Millisecond)
					lab.server.Thaw()
					time.Sleep(300 * time.Millisecond)
				}
				time.Sleep(20 * test.trip)
				require.Greater(t, all.rate(window), ideal*0.4, "after three stalls")
				require.Zero(t, all.kept.Load(), "unlocks that failed")
			})
		})
	}
}

// defect B9: callers who have next to no time left, fewer than a round trip takes, fail by themselves. They
// neither take down those who happen to share a pipeline with them, nor their connections.
func TestCallersWithLittleTimeDoNotHarmOthers(t *testing.T) {
	t.Parallel()
	const trip = 20 * time.Millisecond
	var alone, beside float64
	farAway(t, trip, rlock.ClientOptions{}, func(t *testing.T, lab *farLab) {
		all := lab.crowd("a", 100)
		defer all.leaves()
		time.Sleep(time.Second)
		alone = all.rate(time.Second)
	})
	farAway(t, trip, rlock.ClientOptions{}, func(t *testing.T, lab *farLab) {
		all := lab.crowd("a", 100)
		defer all.leaves()
		time.Sleep(time.Second)
		dials := lab.server.Dials()
		short := lab.crowd("b", 100, rlock.FixedLease(100*time.Millisecond)) // 16 ms for a command
		defer short.leaves()
		time.Sleep(time.Second)
		beside = all.rate(time.Second)
		require.Zero(t, all.refused.Load()+all.kept.Load())
		require.Zero(t, short.locked.Load())
		require.Positive(t, short.refused.Load())
		require.Less(t, lab.server.Dials()-dials, 40)
	})
	require.Greater(t, beside, alone*0.6)
}

// defect B10: however many holds are due together, renewing them takes a few round trips.
func TestManyHoldsAreRenewedOverALongWay(t *testing.T) {
	t.Parallel()
	const holds, lease = 6000, time.Second
	farAway(t, 40*time.Millisecond, rlock.ClientOptions{Lease: lease}, func(t *testing.T, lab *farLab) {
		lab.teach(t)
		held := make([]hold, holds)
		var locking errgroup.Group
		locking.SetLimit(1000) // more at a time wait for exchanges, and begin with little of their leases left
		for i := range holds {
			locking.Go(func() error {
				ctx, unlock, err := rlock.New(lab.client, fmt.Sprint("held", i)).Lock(context.Background())
				held[i] = hold{ctx, unlock}
				return err
			})
		}
		require.NoError(t, locking.Wait())
		time.Sleep(4 * lease)
		lost := 0
		var all sync.WaitGroup
		for _, h := range held {
			if h.ctx.Err() != nil {
				lost++
			}
			all.Go(func() { _ = h.unlock() })
		}
		all.Wait()
		require.Zero(t, lost, "of %d", holds)
	})
}

// defect B11: dialling and greeting have a limit of their own, so that a connection is made over any way on
// which a command has enough time.
func TestTheFirstConnectionOverALongWay(t *testing.T) {
	t.Parallel()
	for _, trip := range []time.Duration{40 * time.Millisecond, 80 * time.Millisecond} {
		t.Run(trip.String(), func(t *testing.T) {
			farAway(t, trip, rlock.ClientOptions{Lease: time.Second}, func(t *testing.T, lab *farLab) {
				lock := rlock.New(lab.client, "l", rlock.MaxWait(5*time.Second))
				began := time.Now()
				ctx, unlock, err := lock.Lock(context.Background())
				require.NoError(t, err)
				require.Less(t, time.Since(began), 12*trip)
				time.Sleep(3 * time.Second)
				require.NoError(t, ctx.Err(), "it is renewed, over a connection that is made for that")
				require.NoError(t, unlock())
				require.LessOrEqual(t, lab.server.Dials(), 4)
			})
		})
	}
}

// defect B12: how long an inner unlock waits for an answer does not depend on what is left of the lease.
func TestInnerUnlockShortlyBeforeAFixedLeaseEnds(t *testing.T) {
	t.Parallel()
	const trip = 80 * time.Millisecond
	for _, left := range []time.Duration{400 * time.Millisecond, 200 * time.Millisecond, 100 * time.Millisecond} {
		t.Run(left.String(), func(t *testing.T) {
			farAway(t, trip, rlock.ClientOptions{}, func(t *testing.T, lab *farLab) {
				lab.teach(t)
				outer := rlock.New(lab.client, "l", rlock.FixedLease(3*time.Second))
				lease := take(t, context.Background(), outer)
				inner := take(t, lease.ctx, rlock.New(lab.client, "l"))
				held, err := outer.Held(lease.ctx)
				require.NoError(t, err)
				time.Sleep(time.Until(held.ValidUntil) - left)
				dials, began := lab.server.Dials(), time.Now()
				require.NoError(t, inner.unlock())
				require.Less(t, time.Since(began), 2*trip)
				require.Equal(t, dials, lab.server.Dials(), "no connection was given up")
				require.NoError(t, lease.ctx.Err())
				_ = lease.unlock() // it may be over by the time of its answer
			})
		})
	}
}
