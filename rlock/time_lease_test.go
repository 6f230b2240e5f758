package rlock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/rlock"
)

// G9: a lease of 30 s is kept for a day, by as few renewals as the period asks for.
func TestWatchdogKeepsALeaseForADay(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		lock := rlock.New(sim.client(t, rlock.ClientOptions{}), "order")
		hold := timeLock(t, t.Context(), lock)
		began := sim.count("renew")
		for range 24 * 60 {
			time.Sleep(time.Minute)
			require.NoError(t, context.Cause(hold.ctx))
			// A period is at most 10 s, so 20 s are left at the least.
			require.GreaterOrEqual(t, sim.Miniredis().TTL("order"), 20*time.Second)
		}
		renewals := sim.count("renew") - began
		const periods = 24 * 60 * 6
		require.GreaterOrEqual(t, renewals, periods-1)
		require.LessOrEqual(t, renewals, periods*8/7+1, "a period is rounded down by an eighth at most")
		require.NoError(t, hold.unlock())
		require.False(t, sim.holds("order"))
	})
}

// timeSilences are the ways in which Redis can stop answering.
var timeSilences = map[string]simredis.Verdict{
	"requests are lost":          simredis.DropRequest,
	"replies are lost":           simredis.DropReply,
	"connections are cut":        simredis.Cut,
	"answers come after an hour": simredis.Delay(time.Hour),
}

// G2, need 2: the context ends when validity does, which counts from the start of the last confirmed call, and
// within a tick before that. Redis still has the key then, whatever became of renewals under way.
func TestValidityEndsExactly(t *testing.T) {
	t.Parallel()
	for name, verdict := range timeSilences {
		for _, lease := range []time.Duration{time.Second, 30 * time.Second, 10 * time.Minute} {
			for _, quietAfter := range []time.Duration{0, lease / 4, 3*lease + lease/7} {
				t.Run(name+" "+lease.String()+" "+quietAfter.String(), func(t *testing.T) {
					t.Parallel()
					inBubble(t, func(t *testing.T, sim *timeSim) {
						lock := rlock.New(sim.client(t, rlock.ClientOptions{Lease: lease}), "order")
						hold := timeLock(t, t.Context(), lock)
						time.Sleep(quietAfter)
						sim.suffer(timeAlways(verdict))
						timeEnds(t, sim, lock, hold, lease)
					})
				})
			}
		}
	}
}

// timeEnds waits for the loss and asserts when it comes.
func timeEnds(t *testing.T, sim *timeSim, lock *rlock.Lock, hold timeHold, lease time.Duration) {
	t.Helper()
	start := sim.confirmed("acquire", "renew")
	end := start.Add(lease - lease/100 - timeMargin - timeTick)
	before := timeHeld(t, hold.ctx, lock)
	require.Equal(t, end.UnixNano(), before.ValidUntil.UnixNano())
	<-hold.ctx.Done()
	now := time.Now()
	require.False(t, now.After(end), "%v late", now.Sub(end))
	require.True(t, now.After(end.Add(-timeTick)), "%v early", end.Sub(now))
	require.True(t, sim.holds("order"), "others cannot have it yet")
	timeLost(t, context.Cause(hold.ctx), rlock.LossExpired)
	sim.suffer(nil)
	timeLost(t, hold.unlock(), rlock.LossExpired)
	time.Sleep(2 * lease)
	require.False(t, sim.holds("order"))
}

// The same while the server is frozen in the middle of a renewal, and carries it out when it thaws: the late
// answer does not count, and revives nothing.
func TestValidityEndsExactlyWhileARenewalHangs(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		const lease = 30 * time.Second
		lock := rlock.New(sim.client(t, rlock.ClientOptions{Lease: lease}), "order")
		hold := timeLock(t, t.Context(), lock)
		time.Sleep(lease + lease/7) // between two renewals
		sim.Freeze()
		start := sim.confirmed("acquire", "renew")
		end := start.Add(lease - lease/100 - timeMargin - timeTick)
		<-hold.ctx.Done()
		now := time.Now()
		require.False(t, now.After(end))
		require.True(t, now.After(end.Add(-timeTick)))
		sim.Thaw()
		time.Sleep(time.Minute)
		require.Error(t, hold.ctx.Err())
		require.False(t, sim.holds("order"), "what hung was carried out, and cleaned up after")
		timeLost(t, hold.unlock(), rlock.LossExpired)
	})
}

func TestFixedLeaseEndsAndIsNeverRenewed(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		const lease = time.Hour
		client := sim.client(t, rlock.ClientOptions{})
		lock := rlock.New(client, "order", rlock.FixedLease(lease))
		hold := timeLock(t, t.Context(), lock)
		timeEnds(t, sim, lock, hold, lease)
		require.LessOrEqual(t, sim.count("renew"), 1, "as the client begins to listen, it asks whether a break was missed")
	})
}

// Need 17: MaxHold ends a hold that the watchdog could keep; first its context, and then it is released.
func TestMaxHoldEndsTheHoldAndReleasesIt(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		const most = 10 * time.Minute
		client := sim.client(t, rlock.ClientOptions{})
		hold := timeLock(t, t.Context(), rlock.New(client, "order", rlock.MaxHold(most)))
		start := time.Now()
		early := make(chan string, 16)
		sim.suffer(func(_ int, args []string) simredis.Verdict {
			if timeScript(args) == "release" && hold.ctx.Err() == nil {
				early <- "released before the context ended"
			}
			return simredis.Pass
		})
		<-hold.ctx.Done()
		timeBetween(t, most-timeTick, time.Since(start), most)
		timeLost(t, context.Cause(hold.ctx), rlock.LossMaxHold)
		synctest.Wait()
		require.Empty(t, early)
		require.Positive(t, sim.count("release"))
		require.False(t, sim.holds("order"))
		next := timeLock(t, context.Background(), rlock.New(client, "order"))
		require.Less(t, time.Since(start), most+time.Second)
		timeLost(t, hold.unlock(), rlock.LossMaxHold)
		require.NoError(t, next.ctx.Err())
		require.NoError(t, next.unlock())
	})
}

// G9: a failure that passes is tried again while validity lasts, and costs nothing.
func TestRenewalIsTriedAgainWhileValidityLasts(t *testing.T) {
	t.Parallel()
	for name, verdict := range timeSilences {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				var failed, renewed int
				client := sim.client(t, rlock.ClientOptions{Observer: &rlock.Observer{
					Renewed: func(r rlock.Renewal) {
						if r.Err != nil {
							failed++
							return
						}
						renewed++
					},
				}})
				hold := timeLock(t, t.Context(), rlock.New(client, "order"))
				for range 20 {
					sim.suffer(timeOnly("renew", verdict))
					// The last confirmation is up to 10 s old, validity lasts 29.7 s from there, and an
					// attempt that is under way at the end takes up to 3 s more.
					time.Sleep(15 * time.Second)
					sim.suffer(nil)
					time.Sleep(15 * time.Second)
					require.NoError(t, context.Cause(hold.ctx))
				}
				synctest.Wait()
				require.GreaterOrEqual(t, failed, 20)
				require.GreaterOrEqual(t, renewed, 20)
				require.NoError(t, hold.unlock())
			})
		})
	}
}
