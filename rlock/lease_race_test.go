package rlock_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// Levels that have an end of their own come to be while the hold is ended by somebody else: for the race
// detector. Each is alive, or was refused, and unlock tells what became of it.
func TestLevelsWithEndsOfTheirOwnWhileHoldsAreTakenAway(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(c *rlock.Client, l *rlock.Lock){
		"Break": func(_ *rlock.Client, l *rlock.Lock) { _ = l.Break(context.Background()) },
		"Close": func(c *rlock.Client, _ *rlock.Lock) { _ = c.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for round := range 30 {
				leaseTakeAway(t, redistest.Key(t)+strconv.Itoa(round), end)
			}
		})
	}
}

func leaseTakeAway(t *testing.T, key string, end func(*rlock.Client, *rlock.Lock)) {
	t.Helper()
	rdb := redis.NewClient(redistest.Shared(t).Options())
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{
		Lease: 5 * time.Second, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	defer func() {
		_ = client.Close()
		_ = rdb.Close()
	}()
	lock := rlock.New(client, key, rlock.MaxHold(time.Minute), rlock.FixedLease(10*time.Second))
	outer, unlock, err := lock.Lock(context.Background())
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			ctx, unlock, err := lock.Lock(outer)
			if err == nil {
				_ = context.Cause(ctx)
			}
			leaseExplained(t, unlock())
		})
	}
	all.Go(func() { end(client, lock) })
	all.Wait()
	<-outer.Done()
	leaseExplained(t, unlock())
}

func leaseExplained(t *testing.T, err error) {
	t.Helper()
	for _, word := range []error{nil, rlock.ErrLost, rlock.ErrNotHeld, rlock.ErrClosed} {
		if errors.Is(err, word) {
			return
		}
	}
	t.Errorf("an unlock that nothing explains: %v", err)
}

// G10, need 19, bug 16: concurrent calls through handles with leases of their own, one client and
// one name, each get the lease that they asked for.
func TestCallsAtOneTimeHaveLeasesOfTheirOwn(t *testing.T) {
	t.Parallel()
	server, key := redistest.Shared(t), redistest.Key(t)
	rdb := server.Client(t)
	const lease, callers, turns = 10 * time.Minute, 3, 15
	client := timeClient(t, server.Addr(), rlock.ClientOptions{Lease: lease})
	locks := map[time.Duration]*rlock.Lock{
		lease:         rlock.New(client, key),
		time.Minute:   rlock.New(client, key, rlock.FixedLease(time.Minute)),
		3 * time.Hour: rlock.New(client, key, rlock.FixedLease(3*time.Hour)),
	}
	var all sync.WaitGroup
	for want, lock := range locks {
		for range callers {
			all.Go(func() {
				for range turns {
					err := lock.Do(context.Background(), func(ctx context.Context) error {
						left, err := rdb.PTTL(ctx, key).Result()
						hold, held := lock.Held(ctx)
						local := time.Until(hold.ValidUntil)
						for _, got := range []time.Duration{left, local} {
							if got > want || got < want-timeLimit-want/100 {
								t.Errorf("%v where %v was asked for", got, want)
							}
						}
						return errors.Join(err, held)
					})
					if err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	all.Wait()
	timeGone(t, rdb, key)
}
