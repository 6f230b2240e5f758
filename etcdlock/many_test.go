package etcdlock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
)

// However many locks a client holds, they are renewed together: by one keep-alive, and a read for 128 of them where
// others write to etcd.
func TestManyHolds(t *testing.T) {
	t.Parallel()
	const holds, tasks = 2000, 20
	faults := &wire{}
	server := etcdtest.Shared(t)
	c := client(t, connect(t, server.Endpoint(), faults.options()...), etcdlock.Options{Lease: 3 * brief})
	name := nameOf(t)
	all := make([]turn, holds)
	var running sync.WaitGroup
	for task := range tasks {
		running.Go(func() {
			for i := task; i < holds; i += tasks {
				held, unlock, err := c.Lock(fmt.Sprint(name, i)).Lock(within(t))
				all[i] = turn{held, unlock, err}
			}
		})
	}
	running.Wait()
	for _, one := range all {
		require.NoError(t, one.err)
	}
	plain := connect(t, server.Endpoint())
	writing, stop := context.WithCancel(t.Context())
	running.Go(func() {
		for writing.Err() == nil {
			_, _ = plain.Put(writing, nameOf(t), "")
		}
	})
	const rounds, looks = 2, holds/128 + 1
	renewals, reads := faults.Count(renewing), faults.Count(reading)
	eventually(t, func() bool { return faults.Count(reading) >= reads+rounds*looks }, "all are looked at, twice")
	stop()
	running.Wait()
	reads, renewals = faults.Count(reading)-reads, faults.Count(renewing)-renewals
	t.Logf("%d keep-alives, %d reads", renewals, reads)
	require.Less(t, renewals, looks, "a keep-alive serves all holds, though on a busy machine some are sent again")
	require.LessOrEqual(t, reads, (renewals+1)*looks)
	got, err := plain.Get(within(t), name, clientv3.WithPrefix(), clientv3.WithCountOnly())
	require.NoError(t, err)
	require.EqualValues(t, holds, got.Count)
	for _, one := range all {
		require.NoError(t, one.held.Err())
	}
	for task := range tasks {
		running.Go(func() {
			for i := task; i < holds; i += tasks {
				all[i].err = all[i].unlock()
			}
		})
	}
	running.Wait()
	for _, one := range all {
		require.NoError(t, one.err)
	}
	got, err = plain.Get(within(t), name, clientv3.WithPrefix(), clientv3.WithCountOnly())
	require.NoError(t, err)
	require.Zero(t, got.Count)
}
