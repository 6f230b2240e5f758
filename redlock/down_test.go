package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/memquorum"
	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// calm is a network in which nothing happens.
type calm struct{}

func (calm) Fate(memstore.Request) memstore.Fate { return memstore.Fate{} }

// While nodes are down, tries fail at once. Each time that a connection is given up, a single try asks over the next one
// whether the node is back, and waits. Several callers try for a minute of virtual time.
func TestOnlyOneTryWaitsForNodesThatAreDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := options(30 * time.Second)
		const minute = time.Minute
		pauses := []time.Duration{7, 11, 13, 17} // ms, so that no two come at the same instant
		givenUp := 3 * time.Second               // with this lease: see Client.patience
		var servers []*memquorum.Server
		var nodes []redis.UniversalClient
		for i := range 3 {
			s := memquorum.New(fmt.Sprint("node ", i), calm{}, time.Hour, 0)
			servers = append(servers, s)
			nodes = append(nodes, s.Node(0, false, func(*memquorum.Link) {}))
		}
		client, err := redlock.NewClient(nodes, &o)
		require.NoError(t, err)
		defer func() { require.NoError(t, client.Close()) }()
		lock := redlock.New(client, "hopeless")
		once(t, lock)
		servers[0].Freeze()
		servers[1].Freeze()
		var waited, tries atomic.Int64
		var callers sync.WaitGroup
		began := time.Now()
		for i, pause := range pauses {
			callers.Go(func() {
				lock := redlock.New(client, fmt.Sprint("hopeless ", i))
				for ; time.Since(began) < minute; tries.Add(1) {
					one := time.Now()
					_, _, err := lock.TryLock(context.Background())
					if !errors.Is(err, rlock.ErrUnavailable) {
						t.Error(err)
					}
					if time.Since(one) > 0 {
						waited.Add(1)
					}
					time.Sleep(pause * time.Millisecond)
				}
			})
		}
		callers.Wait()
		// Nobody knows at first that the nodes are down: two tries of each caller wait for them. Later one caller's does,
		// each time that a connection is given up.
		require.LessOrEqual(t, int(waited.Load()), 2*len(pauses)+int(minute/givenUp), "of %d tries", tries.Load())
		servers[0].Thaw()
		servers[1].Thaw()
		time.Sleep(givenUp + time.Second)
		once(t, lock)
	})
}
