package rlock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// nestedKinds make a lock of each kind whose holds nest.
var nestedKinds = map[string]func(c *rlock.Client, opts ...rlock.Option) rlock.Locker{
	"plain": func(c *rlock.Client, opts ...rlock.Option) rlock.Locker { return rlock.New(c, "order", opts...) },
	"fair":  func(c *rlock.Client, opts ...rlock.Option) rlock.Locker { return fairlock.New(c, "order", opts...) },
	"read": func(c *rlock.Client, opts ...rlock.Option) rlock.Locker {
		return rwlock.New(c, "order", opts...).Read()
	},
	"write": func(c *rlock.Client, opts ...rlock.Option) rlock.Locker {
		return rwlock.New(c, "order", opts...).Write()
	},
	"multi": func(c *rlock.Client, opts ...rlock.Option) rlock.Locker {
		return multilock.New([]*rlock.Lock{rlock.New(c, "order"), rlock.New(c, "other")}, opts...)
	},
}

// nestedHeld locks one more level.
func nestedHeld(t *testing.T, ctx context.Context, lock rlock.Locker) timeHold {
	t.Helper()
	held, unlock, err := lock.Lock(ctx)
	require.NoError(t, err)
	return timeHold{held, unlock}
}

// G10, need 19, bug 45 (redisson#1110): the outermost Lock decides the lease. A lease that an inner one asks for, longer
// or shorter, fixed or not, changes nothing and sends nothing; its context lives as long as the outer one's.
func TestTheOutermostLockDecidesTheLease(t *testing.T) {
	t.Parallel()
	const lease = 30 * time.Second
	for kind, newLock := range nestedKinds {
		for name, c := range map[string]struct {
			outer, inner []rlock.Option
			ends         bool // the outer one has a fixed lease
		}{
			"a longer fixed one":               {nil, []rlock.Option{rlock.FixedLease(time.Hour)}, false},
			"a shorter fixed one":              {nil, []rlock.Option{rlock.FixedLease(time.Second)}, false},
			"a longer one":                     {nil, []rlock.Option{rlock.Lease(time.Hour)}, false},
			"a shorter one":                    {nil, []rlock.Option{rlock.Lease(12 * time.Second)}, false},
			"a renewed one inside a fixed one": {[]rlock.Option{rlock.FixedLease(lease)}, nil, true},
		} {
			t.Run(kind+", "+name, func(t *testing.T) {
				t.Parallel()
				inBubble(t, func(t *testing.T, sim *timeSim) {
					client := sim.client(t, rlock.ClientOptions{Lease: lease})
					outer := nestedHeld(t, t.Context(), newLock(client, c.outer...))
					ttl := sim.Miniredis().TTL("order")
					var sent atomic.Int64
					sim.suffer(func(int, []string) simredis.Verdict {
						sent.Add(1)
						return simredis.Pass
					})
					inner := nestedHeld(t, outer.ctx, newLock(client, c.inner...))
					require.Zero(t, sent.Load())
					require.Equal(t, ttl, sim.Miniredis().TTL("order"))
					if c.ends {
						time.Sleep(lease)
						timeLost(t, context.Cause(outer.ctx), rlock.LossExpired)
						timeLost(t, context.Cause(inner.ctx), rlock.LossExpired)
						timeLost(t, inner.unlock(), rlock.LossExpired)
						timeLost(t, outer.unlock(), rlock.LossExpired)
						return
					}
					for range 100 {
						time.Sleep(time.Second)
						synctest.Wait()
						require.LessOrEqual(t, sim.Miniredis().TTL("order"), lease)
					}
					require.NoError(t, inner.ctx.Err())
					before := sent.Load()
					require.NoError(t, inner.unlock())
					require.Equal(t, before, sent.Load())
					require.NoError(t, outer.ctx.Err())
					require.NoError(t, outer.unlock())
					require.False(t, sim.holds("order"))
				})
			})
		}
	}
}

// A MaxHold of an inner level ends the hold while that level is open, and not when it was unlocked.
func TestAMaxHoldInside(t *testing.T) {
	t.Parallel()
	for kind, newLock := range nestedKinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				client := sim.client(t, rlock.ClientOptions{})
				outer := nestedHeld(t, t.Context(), newLock(client))
				brief := newLock(client, rlock.MaxHold(time.Second))
				require.NoError(t, nestedHeld(t, outer.ctx, brief).unlock())
				time.Sleep(2 * time.Second)
				require.NoError(t, outer.ctx.Err())

				inner := nestedHeld(t, outer.ctx, brief)
				time.Sleep(time.Second + 20*time.Millisecond)
				timeLost(t, context.Cause(inner.ctx), rlock.LossMaxHold)
				timeLost(t, context.Cause(outer.ctx), rlock.LossMaxHold)
				timeLost(t, inner.unlock(), rlock.LossMaxHold)
				timeLost(t, outer.unlock(), rlock.LossMaxHold)
				time.Sleep(time.Second)
				require.False(t, sim.holds("order"))
			})
		})
	}
}

// Held tells the truth about an inner level that asked for a lease of its own, whatever it asked for.
func TestValidityInside(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client := sim.client(t, rlock.ClientOptions{Lease: 30 * time.Second})
		outer := timeLock(t, t.Context(), rlock.New(client, "order"))
		lock := rlock.New(client, "order", rlock.FixedLease(time.Hour), rlock.MaxHold(5*time.Second))
		until := timeHeld(t, outer.ctx, lock).ValidUntil
		inner := timeLock(t, outer.ctx, lock)
		require.WithinDuration(t, time.Now().Add(5*time.Second), timeHeld(t, inner.ctx, lock).ValidUntil, time.Millisecond)
		require.NoError(t, inner.unlock())
		require.Equal(t, until, timeHeld(t, outer.ctx, lock).ValidUntil)
		require.NoError(t, outer.unlock())
	})
}

// A process that stood still for longer than the lease may come to a nested Lock, or to its unlock, before its wheel
// turns: the clock is looked at first.
func TestALostHoldIsNotEnteredAgain(t *testing.T) {
	t.Parallel()
	for kind, newLock := range nestedKinds {
		if kind == "multi" { // which unlocks its other members when one is lost
			continue
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				client := sim.client(t, rlock.ClientOptions{Lease: 3 * time.Second})
				lock := newLock(client)
				outer := nestedHeld(t, t.Context(), lock)
				inner := nestedHeld(t, outer.ctx, lock)
				time.Sleep(100 * time.Millisecond)
				sim.suffer(timeAlways(simredis.DropRequest))
				<-outer.ctx.Done()
				began := time.Now()
				_, _, err := lock.Lock(context.WithoutCancel(inner.ctx))
				timeLost(t, err, rlock.LossExpired)
				require.Equal(t, began, time.Now(), "at once")
				timeLost(t, inner.unlock(), rlock.LossExpired)
				timeLost(t, outer.unlock(), rlock.LossExpired)
				sim.suffer(nil)
			})
		})
	}
}

// A step that is under way when the lock is deleted, broken or over makes no key, whenever it comes, and counts nowhere.
func TestALateStepMakesNoLock(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, lab *timeLab, key string, other *rlock.Lock, outer timeHold){
		"deleted": func(t *testing.T, lab *timeLab, key string, _ *rlock.Lock, _ timeHold) {
			require.NoError(t, lab.direct.Del(t.Context(), key).Err())
		},
		"broken": func(t *testing.T, _ *timeLab, _ string, other *rlock.Lock, _ timeHold) {
			require.NoError(t, other.Break(t.Context()))
		},
		"over": func(t *testing.T, lab *timeLab, key string, _ *rlock.Lock, _ timeHold) {
			require.NoError(t, lab.direct.PExpire(t.Context(), key, time.Millisecond).Err())
			timeGoneSoon(t, lab.direct, key)
		},
		"released": func(t *testing.T, _ *timeLab, _ string, _ *rlock.Lock, outer timeHold) {
			require.NoError(t, outer.unlock())
		},
	} {
		for what, copied := range leaseCopies {
			t.Run(name+", "+what, func(t *testing.T) {
				t.Parallel()
				lab, key := newTimeLab(t), "order"
				client := lab.client(t, rlock.ClientOptions{Lease: time.Minute})
				other := rlock.New(timeClient(t, lab.server.Addr(), rlock.ClientOptions{}), key)
				lock := rlock.New(client, key)
				outer := timeLock(t, t.Context(), lock)
				gate := faultproxy.NewGate()
				rule := lab.on("levels", copied(gate))
				inner := timeLock(t, outer.ctx, lock)
				rule.Wait(t, 1)
				if name == "released" {
					require.NoError(t, inner.unlock())
				}
				end(t, lab, key, other, outer)
				gate.Open()
				timeReceive(t, gate.Delivered(), "the late step")
				timeGone(t, lab.direct, key)
				next := timeLock(t, t.Context(), other)
				require.Equal(t, map[string]string{timeHeld(t, next.ctx, other).ID: "1"},
					lab.direct.HGetAll(t.Context(), key).Val())
				require.NoError(t, next.unlock())
				if name != "released" {
					_ = inner.unlock() // it may have learned of the loss, or not
					_ = outer.unlock()
				}
				timeGone(t, lab.direct, key)
			})
		}
	}
}

// R3: a hold with an unanswered step is not passed on in memory.
func TestNoPassingWhileAStepIsUnanswered(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		lock := rlock.New(sim.client(t, rlock.ClientOptions{}), "order")
		first, second, third := countLine(t, lock)
		granted := timeHeld(t, first.ctx, lock)
		sim.suffer(timeOnly("levels", simredis.CutAfter))
		inner := timeLock(t, first.ctx, lock)
		time.Sleep(22 * time.Millisecond)
		require.NoError(t, inner.unlock())
		released := sim.count("release")
		require.NoError(t, first.unlock())
		next := <-second
		require.Equal(t, released+1, sim.count("release"))
		require.NotEqual(t, granted.ID, timeHeld(t, next.ctx, lock).ID)
		sim.suffer(nil)
		require.NoError(t, next.unlock())
		require.NoError(t, (<-third).unlock())
	})
}
