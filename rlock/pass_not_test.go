package rlock_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// R3, R4: where memory is not enough a turn costs a release and an acquisition, and no time besides: after a release
// that nobody but this client heard, the next waiter asks at once. In virtual time a pause or a poll would show.
func TestWhereMemoryIsNotEnoughTheNextAsksAtOnce(t *testing.T) {
	t.Parallel()
	const turns = 20
	kept, fixed := []rlock.Option{}, []rlock.Option{rlock.FixedLease(time.Hour)}
	for name, opts := range map[string][2][]rlock.Option{
		"fixed leases":      {fixed, fixed},
		"different leases":  {kept, fixed},
		"limited holds":     {{rlock.MaxHold(time.Hour)}, {rlock.MaxHold(time.Hour)}},
		"no token is spare": {kept, kept},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				client := sim.client(t, rlock.ClientOptions{MaxPoll: time.Hour})
				if name == "no token is spare" { // the clock is behind what was given out before
					ahead := time.Now().Add(time.Hour).UnixMicro()
					require.NoError(t, sim.Client().Set(t.Context(), fenceKey("order"), ahead, 0).Err())
				}
				at := timeLock(t, t.Context(), rlock.New(client, "order"))
				waiting := make(chan timeHold)
				for i := range turns {
					go func() { waiting <- timeLock(t, context.Background(), rlock.New(client, "order", opts[i%2]...)) }()
					synctest.Wait()
				}
				before, began := [2]int{sim.count("acquire"), sim.count("release")}, time.Now()
				for range turns {
					require.NoError(t, at.unlock())
					at = <-waiting
				}
				require.Zero(t, time.Since(began))
				require.NoError(t, at.unlock())
				sent := [2]int{sim.count("acquire") - before[0], sim.count("release") - before[1]}
				require.Equal(t, [2]int{turns, turns + 1}, sent)
			})
		})
	}
}

// R4: a process whose callers cannot pass the lock on lets others in after each turn, if others heard of that: also one
// that is much slower to wake.
func TestWhereMemoryIsNotEnoughProcessesTakeTurns(t *testing.T) {
	t.Parallel()
	const wanted = 40 // turns of the slow one
	server := redistest.Start(t)
	far := faultproxy.Start(t, server.Addr())
	far.Latency(time.Millisecond)
	clients := [2]*rlock.Client{conductClient(t, server.Addr(), nil), conductClient(t, far.Addr(), nil)}
	var turns [2]atomic.Int64
	var all sync.WaitGroup
	for i, client := range clients {
		for range 8 {
			all.Go(func() {
				for turns[1].Load() < wanted {
					lock := rlock.New(client, "shared", rlock.FixedLease(time.Minute))
					if err := lock.Do(t.Context(), func(context.Context) error { turns[i].Add(1); return nil }); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	t.Logf("%d turns of the other one for %d", turns[0].Load(), wanted)
	require.Less(t, turns[0].Load(), int64(15*wanted), "without that it is 20 to 30 times as many")
}
