package rlock_test

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// G2, bugs 17 and 18: between two renewals the hold is deleted and another has the lock, or has had it.
// The next renewal neither makes the hold again nor lengthens the other's, and it is a loss in both.
func TestLossOfAHoldThatAnotherHadInBetween(t *testing.T) {
	t.Parallel()
	for name, stays := range map[string]bool{"given back": false, "still held": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLossLab(t, 1, lossLease)
			rival := rlock.New(l.rival(t, lossLease), "job", rlock.FixedLease(time.Minute))
			lock := rlock.New(l.clients[0], "job")
			gate := faultproxy.NewGate()
			renewal := l.proxy.On(lossRenewal, faultproxy.HoldRequest(gate))
			ctx, unlock, err := lock.Lock(t.Context())
			require.NoError(t, err)
			renewal.Wait(t, 1)
			require.NoError(t, l.direct.Del(t.Context(), "job").Err())
			second, release, err := rival.Lock(t.Context())
			require.NoError(t, err)
			held, err := rival.Held(second)
			require.NoError(t, err)
			if !stays {
				require.NoError(t, release())
			}
			before := l.direct.PTTL(t.Context(), "job").Val()
			gate.Open()
			lossEnds(t, ctx, "job", rlock.LossGone)
			require.NoError(t, lossCheck("job", unlock(), rlock.LossGone))
			if !stays {
				assert.NotContains(t, l.server.Keys(t), "job")
				return
			}
			assert.LessOrEqual(t, l.direct.PTTL(t.Context(), "job").Val(), before)
			assert.Equal(t, map[string]string{held.ID: "1"}, l.direct.HGetAll(t.Context(), "job").Val())
			assert.NoError(t, release())
		})
	}
}

// Bug 22: an unlock that comes after the end of its hold leaves no goroutine and no timer that has one, of
// whatever kind that end was, while the client goes on. Alone, because it counts goroutines.
func TestUnlockAfterALossLeavesNoGoroutine(t *testing.T) {
	server := redistest.Shared(t)
	rdb := server.Client(t)
	client := timeClient(t, server.Addr(), rlock.ClientOptions{Lease: 1500 * time.Millisecond})
	name := redistest.Key(t)
	const holds, rounds = 50, 5
	round := func(n int) {
		var all sync.WaitGroup
		for i := range holds {
			all.Go(func() {
				key := fmt.Sprint(name, n, ":", i) // a name of its own: nobody waits, so nothing is subscribed
				opts := [][]rlock.Option{
					{rlock.FixedLease(500 * time.Millisecond)}, {rlock.MaxHold(50 * time.Millisecond)}, nil,
				}[i%3]
				held, unlock, err := rlock.New(client, key, opts...).Lock(t.Context())
				if !assert.NoError(t, err) {
					return
				}
				if opts == nil { // it is taken away, and the next renewal sees that
					assert.NoError(t, rdb.Del(t.Context(), key).Err())
				}
				select {
				case <-held.Done():
				case <-time.After(timeLimit):
					t.Error("the hold did not end")
				}
				assert.ErrorIs(t, unlock(), rlock.ErrLost)
				assert.ErrorIs(t, unlock(), rlock.ErrNotHeld)
			})
		}
		all.Wait()
	}
	// What the client makes once, it keeps: connections, its wheel, and what hears of breaks.
	_, unlock, err := rlock.New(client, fmt.Sprint(name, " beside")).Lock(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, unlock()) }()
	redistest.Eventually(t, timeLimit, func() bool { return server.Listeners(t) > 0 }, "the client does not listen")
	round(0)
	before := runtime.NumGoroutine()
	for n := range rounds {
		round(n + 1)
	}
	redistest.Eventually(t, timeLimit, func() bool { return runtime.NumGoroutine() <= before },
		"goroutines are left")
}
