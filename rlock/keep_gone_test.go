package rlock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/rlock"
)

// takenAway has somebody delete the key of a kept lock that is idle, or all data, and another client take the lock.
func takenAway(t *testing.T, sim *timeSim, flushes bool) timeHold {
	t.Helper()
	if flushes {
		sim.Miniredis().FlushAll()
	} else {
		sim.Miniredis().Del("n")
	}
	return timeLock(t, t.Context(), rlock.New(sim.client(t, rlock.ClientOptions{Lease: keepLease}), "n"))
}

// No caller of the process that kept the lock holds beside the new holder, once what the store said of the lock is as
// old as the documentation of Keep says (defect G42).
func TestAKeptLockThatWasTakenAwayIsNotEntered(t *testing.T) {
	t.Parallel()
	for _, flushes := range []bool{false, true} {
		for name, take := range map[string]func(context.Context, *rlock.Lock) error{
			"TryLock": func(ctx context.Context, l *rlock.Lock) error {
				_, _, err := l.TryLock(ctx)
				return err
			},
			"Lock": func(ctx context.Context, l *rlock.Lock) error {
				ctx, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()
				_, _, err := l.Lock(ctx)
				return err
			},
		} {
			t.Run(fmt.Sprint(name, " flushed ", flushes), func(t *testing.T) {
				t.Parallel()
				inBubble(t, func(t *testing.T, sim *timeSim) {
					client, kept := warmKept(t, sim, keepFor)
					other := takenAway(t, sim, flushes)
					time.Sleep(engine.SureFor + time.Millisecond)
					require.Equal(t, 1, client.Stats().Kept, "nothing was heard of it")
					require.ErrorIs(t, take(t.Context(), kept), rlock.ErrBusy)
					require.Zero(t, client.Stats().Kept)
					require.NoError(t, other.ctx.Err())
					require.NoError(t, other.unlock())
					require.NoError(t, timeLock(t, t.Context(), kept).unlock())
				})
			})
		}
	}
}

// A call that comes earlier holds from memory. It learns of the loss when the renewal that begins with its hold is
// answered, and not after a third of the lease (defect G42).
func TestAKeptLockThatWasTakenAwayIsLostSoon(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		_, kept := warmKept(t, sim, keepFor)
		time.Sleep(engine.SureFor / 5)
		other := takenAway(t, sim, false)
		hold, began := timeLock(t, t.Context(), kept), time.Now()
		<-hold.ctx.Done()
		require.Less(t, time.Since(began), engine.SureFor)
		timeLost(t, hold.unlock(), rlock.LossGone)
		require.NoError(t, other.unlock())
	})
}

// A call that comes after a longer pause asks once, by a renewal: it acquires nothing, and the lock stays kept.
func TestAKeptLockIsAskedForAfterAPause(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client, kept := warmKept(t, sim, keepFor)
		acquired, released, renewed := sim.count("acquire"), sim.count("release"), sim.count("renew")
		for i := range 3 {
			time.Sleep(2 * engine.SureFor)
			require.NoError(t, timeLock(t, t.Context(), kept).unlock())
			require.Equal(t, renewed+i+1, sim.count("renew"))
		}
		require.Equal(t, acquired, sim.count("acquire"))
		require.Equal(t, released, sim.count("release"))
		require.Equal(t, 1, client.Stats().Kept)
	})
}

// Callers that come often never wait for an answer, over a long way too: what the store said is made new before it is
// too old, by few requests.
func TestAKeptLockThatIsUsedOftenWaitsForNoAnswer(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		const trip = 20 * time.Millisecond
		warmKept(t, sim, keepFor)
		far, err := rlock.NewClient(redis.NewClient(sim.FarOptions(trip)), &rlock.ClientOptions{Lease: keepLease})
		require.NoError(t, err)
		defer func() { require.NoError(t, far.Close()) }()
		lock := rlock.New(far, "far", rlock.Keep(keepFor))
		require.NoError(t, timeLock(t, t.Context(), lock).unlock())
		time.Sleep(time.Second)
		require.NoError(t, timeLock(t, t.Context(), lock).unlock())
		time.Sleep(2 * engine.SureFor)
		require.NoError(t, timeLock(t, t.Context(), lock).unlock())
		renewed, first := sim.count("renew"), time.Now()
		for time.Since(first) < keepFor/2 {
			began := time.Now()
			hold := timeLock(t, t.Context(), lock)
			require.Zero(t, time.Since(began), "after %v", began.Sub(first))
			require.NoError(t, hold.unlock())
			time.Sleep(5 * time.Millisecond)
		}
		require.Positive(t, sim.count("renew")-renewed)
		require.LessOrEqual(t, sim.count("renew")-renewed, int(keepFor/engine.SureFor))
	})
}

// A store that does not answer holds a call up for no longer than any request, and with its context it ends at once.
// The lock is released when the store answers again, unless it is taken before that.
func TestAKeptLockIsAskedForWithinTheLimits(t *testing.T) {
	t.Parallel()
	for name, verdict := range map[string]simredis.Verdict{
		"requests are lost": simredis.DropRequest, "answers are lost": simredis.DropReply, "cut": simredis.Cut,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				client, kept := warmKept(t, sim, keepFor)
				time.Sleep(2 * engine.SureFor)
				sim.suffer(timeAlways(verdict))
				began := time.Now()
				_, _, err := kept.TryLock(t.Context())
				require.ErrorIs(t, err, rlock.ErrUnavailable)
				require.LessOrEqual(t, time.Since(began), 3*time.Second+100*time.Millisecond)
				sim.suffer(nil)
				require.Eventually(t, func() bool { return !sim.holds("n") }, time.Minute, time.Second)

				require.NoError(t, timeLock(t, t.Context(), kept).unlock())
				require.Equal(t, 1, client.Stats().Kept)
				time.Sleep(2 * engine.SureFor)
				sim.suffer(timeAlways(verdict))
				began = time.Now()
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				_, _, err = kept.Lock(ctx)
				require.ErrorIs(t, err, context.DeadlineExceeded)
				require.LessOrEqual(t, time.Since(began), 60*time.Millisecond)
				sim.suffer(nil)
				require.NoError(t, timeLock(t, t.Context(), kept).unlock())
			})
		})
	}
}

// One lost connection is no answer of the store: the call asks once more.
func TestAKeptLockIsAskedForAgainAfterALostConnection(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		_, kept := warmKept(t, sim, keepFor)
		time.Sleep(2 * engine.SureFor)
		cut := false
		sim.suffer(func(_ int, args []string) simredis.Verdict {
			if timeScript(args) == "renew" && !cut {
				cut = true
				return simredis.Cut
			}
			return simredis.Pass
		})
		_, unlock, err := kept.TryLock(t.Context())
		require.NoError(t, err)
		require.True(t, cut)
		require.NoError(t, unlock())
	})
}
