package rlock_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// A waiter that hears nothing has its turns of a name that another process takes again and again, kept or not. It is
// told by how many turns the others have meanwhile. While it asked once a second, each request found the name taken,
// and there were thousands (defect G41).
func TestADeafWaiterHasTurns(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]rlock.Option{"plain": nil, "kept": {rlock.Keep(time.Second)}} {
		t.Run(name, func(t *testing.T) {
			server := redistest.Start(t)
			deaf := deniedClient(t, redis.NewClient(deniedUser(t, server, "-subscribe")))
			client := timeClient(t, server.Addr(), rlock.ClientOptions{Lease: keepLease})
			require.NoError(t, timeLock(t, t.Context(), rlock.New(client, "n")).unlock())
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			var turns atomic.Int64
			var others sync.WaitGroup
			for range 8 {
				others.Go(func() {
					works(ctx, rlock.New(client, "n", opts...), false, 200*time.Microsecond, 300*time.Microsecond, &turns)
				})
			}
			const enough, most = 10, 8000
			got := 0
			for got < enough && turns.Load() < most {
				_, unlock, err := rlock.New(deaf, "n", rlock.MaxWait(timeLimit)).Lock(ctx)
				if err == nil {
					got++
					require.NoError(t, unlock())
				}
			}
			stop()
			others.Wait()
			t.Logf("%d turns, while the others had %d", got, turns.Load())
			require.Equal(t, enough, got, "while the others had %d turns", turns.Load())
		})
	}
}
