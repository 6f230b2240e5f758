package redlock_test

import (
	"context"
	"fmt"
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

// While nodes are down, a try fails at once, except for the one that is sent to see whether they are back: once in the
// time after which a connection is given up. A minute of tries, in virtual time.
func TestOnlyOneTryWaitsForNodesThatAreDown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := options(30 * time.Second)
		const pause, minute = 10 * time.Millisecond, time.Minute
		givenUp := 3 * time.Second // with this lease: see Client.patience
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
		waited, tries := 0, 0
		began := time.Now()
		for ; time.Since(began) < minute; tries++ {
			one := time.Now()
			_, _, err := lock.TryLock(context.Background())
			require.ErrorIs(t, err, rlock.ErrUnavailable)
			if time.Since(one) > 0 {
				waited++
			}
			time.Sleep(pause)
		}
		// The first connection is not known to be down: two tries wait for it.
		require.LessOrEqual(t, waited, 1+int(minute/givenUp), "of %d tries", tries)
		servers[0].Thaw()
		servers[1].Thaw()
		time.Sleep(givenUp + time.Second)
		once(t, lock)
	})
}
