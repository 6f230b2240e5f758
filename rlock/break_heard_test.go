package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// A holder hears of a break by a message: its next renewal is 20 minutes away, and of a fixed lease there is none. A
// break in the first moments is learned when the holder begins to listen, and a later one by its message (defect G60).
func TestAHolderHearsOfABreak(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T) redis.UniversalClient{
		"single":   func(t *testing.T) redis.UniversalClient { return redistest.Shared(t).Client(t) },
		"Sentinel": func(t *testing.T) redis.UniversalClient { return redistest.Sentinel(t).Client(t) },
		"Cluster":  func(t *testing.T) redis.UniversalClient { return redistest.Cluster(t, 2).Client(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rdb := start(t)
			opts := &rlock.ClientOptions{Lease: time.Hour}
			holder, operator := clientOn(t, rdb, opts), clientOn(t, rdb, opts)
			breaks := func(opts ...rlock.Option) {
				key := redistest.Key(t)
				held, unlock := conductTake(t, conductCtx(t), rlock.New(holder, key, opts...))
				require.NoError(t, rlock.New(operator, key).Break(conductCtx(t)))
				conductAwait(t, held.Done(), "the holder hears of it")
				require.ErrorIs(t, context.Cause(held), rlock.ErrLost)
				require.ErrorIs(t, unlock(), rlock.ErrLost)
			}
			breaks()                            // before it listens
			breaks()                            // it listens, or soon does
			breaks(rlock.FixedLease(time.Hour)) // it listens
		})
	}
}
