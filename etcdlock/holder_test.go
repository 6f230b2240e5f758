package etcdlock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
	"github.com/holdfast-go/holdfast/lock"
)

type orders struct{ Endpoint, Name, Other string }

// holder takes one lock, waits for another, and says no more.
var holder = role.New("holder", func(o orders) {
	cli, err := clientv3.New(clientv3.Config{Endpoints: []string{o.Endpoint}})
	role.Check(err)
	c, err := etcdlock.NewClient(cli, &etcdlock.Options{Lease: brief})
	role.Check(err)
	_, _, err = c.Lock(o.Name).Lock(context.Background())
	role.Check(err)
	fmt.Println("held")
	_, _, err = c.Lock(o.Other).Lock(context.Background())
	role.Check(err)
	fmt.Println("both")
	role.Told()
})

// When a process dies its lease ends, and with it what it held and where it waited.
func TestTheCrashOfAHolder(t *testing.T) {
	t.Parallel()
	all, plain := clients(t, 1, etcdlock.Options{})
	one, other := all[0].Lock(nameOf(t)), all[0].Lock(nameOf(t))
	_, unlock := take(t, other)
	child := holder.Start(t, orders{etcdtest.Shared(t).Endpoint(), one.Name(), other.Name()})
	child.Hears("held")
	stand(t, plain, other.Name(), 2)
	got := waits(t, plain, one, 2)
	_, _, err := one.TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrBusy)
	child.Kill()
	require.NoError(t, has(t, got).unlock())
	stand(t, plain, other.Name(), 1)
	require.NoError(t, unlock())
	taken(t, other)
}

// A holder that etcd does not hear any more is told before another has the lock.
func TestAHolderThatIsCutOff(t *testing.T) {
	t.Parallel()
	for way, fault := range map[string]func(p *tcpproxy.Proxy, on bool){
		"nothing passes": (*tcpproxy.Proxy).Blackhole,
		"no answer":      func(p *tcpproxy.Proxy, on bool) { p.Hold(tcpproxy.Replies, on) },
		"all is late":    func(p *tcpproxy.Proxy, on bool) { p.Hold(tcpproxy.Requests, on) },
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			all, plain := clients(t, 1, etcdlock.Options{})
			path := tcpproxy.Start(t, etcdtest.Shared(t).Addr())
			away := client(t, connect(t, "http://"+path.Addr()),
				etcdlock.Options{Lease: brief, ReleaseTimeout: time.Second})
			name := nameOf(t)
			held, unlock := take(t, away.Lock(name))
			got := waits(t, plain, all[0].Lock(name), 2)
			fault(path, true)
			turn := has(t, got)
			var loss *lock.LostError
			require.ErrorAs(t, context.Cause(held), &loss, "it was told before")
			require.Equal(t, lock.LossExpired, loss.Reason)
			fault(path, false)
			require.ErrorIs(t, unlock(), lock.ErrLost)
			require.NoError(t, turn.held.Err())
			require.NoError(t, turn.unlock())
			taken(t, away.Lock(name))
		})
	}
}

// MaxHold ends a hold that its owner does not end, and frees the lock.
func TestMaxHold(t *testing.T) {
	t.Parallel()
	all, plain := clients(t, 2, etcdlock.Options{})
	name := nameOf(t)
	held, unlock := take(t, all[0].Lock(name, lock.MaxHold(2*time.Second)))
	got := waits(t, plain, all[1].Lock(name), 2)
	var loss *lock.LostError
	require.ErrorAs(t, ended(t, held), &loss)
	require.Equal(t, lock.LossMaxHold, loss.Reason)
	require.NoError(t, has(t, got).unlock())
	require.ErrorIs(t, unlock(), lock.ErrLost)
}
