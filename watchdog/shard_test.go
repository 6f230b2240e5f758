package watchdog

import (
	"bytes"
	"context"
	"math/rand/v2"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func byOwner(cfg *Config) {
	cfg.Shard = func(l *Lease) string { return l.Of.(string) }
}

func TestHangingShardDelaysNoOther(t *testing.T) {
	inKennel(t, byOwner, func(t *testing.T, k *kennel) {
		k.set(func(ctx context.Context, shard string, due []*Lease, results []Result) {
			if shard == "bad" {
				hang(ctx, shard, due, results)
				return
			}
			renewAll(ctx, shard, due, results)
		})
		bad, good := &Lease{Of: "bad"}, &Lease{Of: "good"}
		k.Renew(bad, 0, testLease)
		k.Renew(good, 0, testLease)
		k.sleepTo(10 * time.Minute)
		losses := k.seenLosses()
		require.Len(t, losses, 1)
		assert.Same(t, bad, losses[0].lease)
		requireInTime(t, losses[0], testLease-testMargin)
		n := time.Duration(0)
		for _, c := range k.seenCalls() {
			if c.shard == "good" {
				n++
				require.Equal(t, n*testPeriod, c.at)
			}
		}
		assert.Equal(t, 10*time.Minute/testPeriod, n)
		k.Stop(good)
	})
}

func TestRenewalsShareCalls(t *testing.T) {
	// A sender that is started too early gets every chance to run ahead.
	eager := func(cfg *Config) {
		cfg.Shard = func(*Lease) string {
			for range 10 {
				runtime.Gosched()
			}
			return ""
		}
	}
	inKennel(t, eager, func(t *testing.T, k *kennel) {
		const n = 1000
		leases := make([]Lease, n)
		for i := range leases {
			// A second of arrivals, within one eighth of the period.
			k.Renew(&leases[i], time.Duration(i)*time.Millisecond, testLease)
		}
		k.sleepTo(testPeriod)
		calls := k.seenCalls()
		require.Len(t, calls, 4)
		for i, want := range []int{256, 256, 256, 232} {
			assert.Equal(t, testPeriod, calls[i].at)
			assert.Len(t, calls[i].due, want)
		}
		for i := range leases {
			require.Equal(t, testPeriod+testLease-testMargin, leases[i].ValidUntil())
			k.Stop(&leases[i])
		}
	})
}

func TestBatchIsInOrderOfDueTime(t *testing.T) {
	inKennel(t, func(cfg *Config) { cfg.Batch = 7 }, func(t *testing.T, k *kennel) {
		// The first call hangs, and meanwhile the others fall due.
		k.set(func(ctx context.Context, shard string, due []*Lease, results []Result) {
			if len(k.seenCalls()) == 1 {
				hang(ctx, shard, due, results)
			}
			renewAll(ctx, shard, due, results)
		})
		const n = 20
		leases := make([]Lease, n)
		for _, i := range rand.Perm(n) {
			k.Renew(&leases[i], time.Duration(i)*testPeriod/40, testLease)
		}
		k.sleepTo(testPeriod + testLimit)
		last := time.Duration(0)
		seen := 0
		for i, c := range k.seenCalls() {
			assert.LessOrEqual(t, len(c.due), 7)
			for _, l := range c.due {
				for j := range leases {
					if l != &leases[j] {
						continue
					}
					at := time.Duration(j) * testPeriod / 40 / (testPeriod / 8)
					require.GreaterOrEqual(t, at, last, "call %d", i)
					last = at
					seen++
				}
			}
		}
		assert.Equal(t, n, seen)
		for i := range leases {
			assert.True(t, k.Stop(&leases[i]))
		}
	})
}

func TestShortLeaseIsRenewedInTime(t *testing.T) {
	inKennel(t, nil, func(t *testing.T, k *kennel) {
		k.set(func(_ context.Context, _ string, _ []*Lease, results []Result) {
			for i := range results {
				results[i] = Result{Lease: 6 * time.Second}
			}
		})
		l := &Lease{}
		k.Renew(l, 0, 6*time.Second)
		k.sleepTo(2 * time.Minute)
		assert.Empty(t, k.seenLosses())
		assert.Len(t, k.seenCalls(), 60)
		k.Stop(l)
	})
}

// Whatever waits in the queue of a shard that hangs and is stopped or guarded
// there is not sent any more.
func TestNotSentFromTheQueue(t *testing.T) {
	inKennel(t, func(cfg *Config) { cfg.Batch = 1 }, func(t *testing.T, k *kennel) {
		k.set(hang)
		leases := make([]Lease, 4)
		for i := range leases {
			k.Renew(&leases[i], 0, testLease)
		}
		k.sleepTo(testPeriod)
		calls := k.seenCalls()
		require.Len(t, calls, 1)
		require.Same(t, &leases[0], calls[0].due[0])
		stopped, guarded := &leases[1], &leases[2]
		assert.True(t, k.Stop(stopped))
		k.Guard(guarded, time.Minute)
		k.set(renewAll)
		k.sleepTo(testPeriod + testLimit)
		calls = k.seenCalls()
		require.Len(t, calls, 2)
		assert.Same(t, &leases[3], calls[1].due[0])
		for i := range leases {
			k.Stop(&leases[i])
		}
	})
}

func TestCloseEmptiesNoQueue(t *testing.T) {
	inKennel(t, func(cfg *Config) { cfg.Batch = 1 }, func(t *testing.T, k *kennel) {
		k.set(hang)
		leases := make([]Lease, 10)
		for i := range leases {
			k.Renew(&leases[i], 0, testLease)
		}
		k.sleepTo(testPeriod)
		k.Close()
		assert.Len(t, k.seenCalls(), 1, "no call is started after Close")
		k.enqueue(&leases[0])
		gather(k.Watchdog)
		assert.Empty(t, k.shards)
	})
}

// senders counts the goroutines that send renewals. Those of the whole process would not do: one of another
// test may be about to end.
func senders() int {
	dump := make([]byte, 1<<20)
	dump = dump[:runtime.Stack(dump, true)]
	return bytes.Count(dump, []byte("watchdog.(*Watchdog).serve("))
}

// Goroutines come with work and go with it; none belongs to a lease.
func TestGoroutinesOnlyWhileDue(t *testing.T) {
	inKennel(t, byOwner, func(t *testing.T, k *kennel) {
		k.set(after(time.Second, renewAll))
		leases := make([]Lease, 300)
		for i := range leases {
			leases[i].Of = string(rune('a' + i%3))
			k.Renew(&leases[i], 0, testLease)
		}
		k.sleepTo(testPeriod - time.Second)
		assert.Zero(t, senders())
		k.sleepTo(testPeriod)
		assert.Equal(t, 3, senders(), "one per shard")
		k.sleepTo(testPeriod + time.Second)
		assert.Zero(t, senders())
		assert.Empty(t, k.shards)
		for i := range leases {
			k.Stop(&leases[i])
		}
	})
}

func TestCloseCancelsTheCallUnderWay(t *testing.T) {
	inKennel(t, nil, func(t *testing.T, k *kennel) {
		k.set(hang)
		l := &Lease{}
		k.Renew(l, 0, testLease)
		k.sleepTo(testPeriod)
		require.Len(t, k.seenCalls(), 1)
		k.Close()
		k.Close()
		assert.Equal(t, testPeriod, k.clock.Now(), "it did not wait for the deadline")
		late := &Lease{}
		k.Renew(late, k.clock.Now(), testLease)
		k.Guard(late, time.Hour)
		assert.Zero(t, late.ValidUntil())
		k.sleepTo(time.Hour)
		assert.Empty(t, k.seenLosses(), "not after Close")
		assert.Empty(t, k.seenOutcomes())
		assert.Len(t, k.seenCalls(), 1)
		assert.True(t, k.Stop(l))
		assert.Zero(t, k.Len())
	})
}

func TestCloseWaitsForLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := NewClock()
		ended := false
		k := newKennel(clock, func(cfg *Config) {
			cfg.Lost = func(*Lease, error) {
				time.Sleep(time.Minute)
				ended = true
			}
		})
		defer k.wheel.Close()
		k.Guard(&Lease{}, time.Second)
		k.Guard(&Lease{}, time.Second)
		time.Sleep(2 * time.Second)
		k.Close()
		assert.True(t, ended)
		assert.Equal(t, 1, k.Len(), "the other one was not lost any more")
	})
}
