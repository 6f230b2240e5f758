package faulttest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/rlock"
)

// awayLab is a client of a simulated Redis that will be away.
type awayLab struct {
	server *simredis.Server
	client *rlock.Client
}

func awhile(t *testing.T, opts rlock.ClientOptions, test func(t *testing.T, lab *awayLab)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		lab := &awayLab{server: simredis.New(t)}
		rdb := redis.NewClient(lab.server.Options())
		opts.Logger = slog.New(slog.DiscardHandler)
		client, err := rlock.NewClient(rdb, &opts)
		require.NoError(t, err)
		lab.client = client
		defer func() {
			require.NoError(t, client.Close())
			require.NoError(t, rdb.Close())
		}()
		test(t, lab)
	})
}

// leaves has Redis go away, and then unlocks so many locks, of which none can be released.
func (lab *awayLab) leaves(t *testing.T, locks int) {
	t.Helper()
	held := make([]func() error, locks)
	for i := range held {
		var err error
		_, held[i], err = rlock.New(lab.client, fmt.Sprint("held", i)).Lock(context.Background())
		require.NoError(t, err)
	}
	lab.server.Leave(simredis.Refuse)
	var all sync.WaitGroup
	for _, unlock := range held {
		all.Go(func() {
			if err := unlock(); !errors.Is(err, rlock.ErrUnconfirmed) {
				t.Errorf("%v", err)
			}
		})
	}
	all.Wait()
}

// defect B13: while Redis is away, it is probed for what is to be released there, once at a time and ever more
// rarely, however much that is. When it is back, everything is released.
func TestRedisIsProbedWhileItIsAway(t *testing.T) {
	t.Parallel()
	const locks = 500
	awhile(t, rlock.ClientOptions{ReleaseTimeout: 100 * time.Millisecond}, func(t *testing.T, lab *awayLab) {
		lab.leaves(t, locks)
		dials := lab.server.Dials()
		time.Sleep(10 * time.Second)
		require.Less(t, lab.server.Dials()-dials, 80, "dials in 10 s")
		require.Len(t, lab.keys("held"), locks)
		lab.server.SetDialFault(nil)
		time.Sleep(2 * time.Second)
		require.Empty(t, lab.keys("held"))
	})
}

// defect B13: cleaning up a failed release lasts as long as that hold's own lease, however long others were.
func TestNobodyIsProbedForWhatIsOver(t *testing.T) {
	t.Parallel()
	opts := rlock.ClientOptions{Lease: time.Second, ReleaseTimeout: 100 * time.Millisecond}
	awhile(t, opts, func(t *testing.T, lab *awayLab) {
		long := rlock.New(lab.client, "nightly", rlock.FixedLease(time.Hour))
		_, unlock, err := long.Lock(context.Background())
		require.NoError(t, err)
		require.NoError(t, unlock())
		lab.leaves(t, 10)
		time.Sleep(10 * time.Second)
		dials := lab.server.Dials()
		time.Sleep(time.Minute)
		require.Equal(t, dials, lab.server.Dials())
	})
}

// keys are the names of locks that begin so and are held in Redis.
func (lab *awayLab) keys(prefix string) (found []string) {
	for _, key := range lab.server.Miniredis().Keys() {
		if strings.HasPrefix(key, prefix) {
			found = append(found, key)
		}
	}
	return found
}
