package etcdlock_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.etcd.io/etcd/client/v3/concurrency"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/internal/testkit/witness"
	"github.com/holdfast-go/holdfast/lock"
)

// etcdctl lock and ours stand in one queue, in the order in which they come.
func TestTheLockOfEtcdctl(t *testing.T) {
	t.Parallel()
	all, plain := clients(t, 2, etcdlock.Options{})
	name := nameOf(t)
	l := all[0].Lock(name)
	theirs := func(keys int) *servers.Process {
		p := etcdtest.Shared(t).Background(t, "lock", name)
		stand(t, plain, name, keys)
		return p
	}
	holds := func(p *servers.Process) {
		eventually(t, func() bool { return strings.Contains(p.Output(), name+"/") }, "etcdctl has the lock")
	}

	_, unlock := take(t, l)
	one := theirs(2)
	got := waits(t, plain, all[1].Lock(name), 3)
	other := theirs(4)
	require.NotContains(t, one.Output(), name)
	require.NoError(t, unlock())
	holds(one)
	_, _, err := l.TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrBusy)
	info, err := l.Inspect(within(t))
	require.NoError(t, err)
	require.Equal(t, 1, info.Held)
	require.Equal(t, name+"/"+info.Holders[0].ID, keysOf(t, plain, name+"/")[0])
	require.Positive(t, info.Holders[0].TTL)
	require.False(t, info.Holders[0].Mine)

	require.NoError(t, one.End(os.Interrupt))
	turn := has(t, got)
	require.NotContains(t, other.Output(), name)
	require.Greater(t, fenceOf(t, all[1].Lock(name), turn.held), info.Holders[0].Fence)
	require.NoError(t, turn.unlock())
	holds(other)
	got = waits(t, plain, all[1].Lock(name), 2)
	require.NoError(t, l.Break(within(t))) // theirs
	require.NoError(t, has(t, got).unlock())
}

// A Mutex of etcd's own client and ours exclude one another.
func TestTheMutexOfEtcdsClient(t *testing.T) {
	t.Parallel()
	const each, turns = 2, 40
	name, began := nameOf(t), time.Now()
	all, plain := clients(t, each, etcdlock.Options{})
	holds := make(chan witness.Hold, 2*each*turns)
	works := func(who string) error { // with the lock
		from := time.Since(began)
		_, err := plain.Get(within(t), name)
		holds <- witness.Hold{Name: name, Who: who, From: from, To: time.Since(began)}
		return err
	}
	ours := func(c *etcdlock.Client) error {
		return c.Lock(name).Do(within(t), func(context.Context) error { return works("ours") })
	}
	theirs := func(session *concurrency.Session) error {
		m := concurrency.NewMutex(session, name)
		if err := m.Lock(within(t)); err != nil {
			return err
		}
		return errors.Join(works("theirs"), m.Unlock(within(t)))
	}
	var running sync.WaitGroup
	for _, c := range all {
		session, err := concurrency.NewSession(connect(t, etcdtest.Shared(t).Endpoint()))
		require.NoError(t, err)
		t.Cleanup(func() { _ = session.Close() })
		for _, turn := range []func() error{func() error { return ours(c) }, func() error { return theirs(session) }} {
			running.Go(func() {
				for range turns {
					if err := turn(); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	running.Wait()
	close(holds)
	var seen []witness.Hold
	for h := range holds {
		seen = append(seen, h)
	}
	require.Len(t, seen, 2*each*turns)
	require.Empty(t, witness.Overlaps(seen))
	stand(t, plain, name, 0)
}
