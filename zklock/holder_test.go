package zklock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/zklock"
)

type orders struct{ Address, Name, Other string }

// holder takes one lock, waits for another, and says no more.
var holder = role.New("holder", func(o orders) {
	c, err := zklock.NewClient([]string{o.Address}, &zklock.Options{Lease: brief})
	role.Check(err)
	_, _, err = c.Lock(o.Name).Lock(context.Background())
	role.Check(err)
	fmt.Println("held")
	_, _, err = c.Lock(o.Other).Lock(context.Background())
	role.Check(err)
	fmt.Println("both")
	role.Told()
})

// When a process dies its session ends, and with it what it held and where it waited.
func TestTheCrashOfAHolder(t *testing.T) {
	t.Parallel()
	all, plain := clients(t, 1, zklock.Options{})
	one, other := all[0].Lock(nameOf(t)), all[0].Lock(nameOf(t))
	_, unlock := take(t, other)
	child := holder.Start(t, orders{zktest.Shared(t).Addr(), one.Name(), other.Name()})
	child.Hears("held")
	plain.stand(t, pathOf(other.Name()), 2)
	got := waits(t, plain, one, 2)
	_, _, err := one.TryLock(within(t))
	require.ErrorIs(t, err, lock.ErrBusy)
	child.Kill()
	require.NoError(t, has(t, got).unlock())
	plain.stand(t, pathOf(other.Name()), 1)
	require.NoError(t, unlock())
	taken(t, other)
}

// A holder that ZooKeeper does not hear any more is told before another has the lock.
func TestAHolderThatIsCutOff(t *testing.T) {
	t.Parallel()
	for way, fault := range map[string]func(p *tcpproxy.Proxy, on bool){
		"nothing passes": (*tcpproxy.Proxy).Blackhole,
		"no answer":      func(p *tcpproxy.Proxy, on bool) { p.Hold(tcpproxy.Replies, on) },
		"all is late":    func(p *tcpproxy.Proxy, on bool) { p.Hold(tcpproxy.Requests, on) },
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			all, plain := clients(t, 1, zklock.Options{})
			path := tcpproxy.Start(t, zktest.Shared(t).Addr())
			away := client(t, zklock.Options{Lease: brief, ReleaseTimeout: time.Second}, path.Addr())
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
	all, plain := clients(t, 2, zklock.Options{})
	name := nameOf(t)
	held, unlock := take(t, all[0].Lock(name, lock.MaxHold(2*time.Second)))
	got := waits(t, plain, all[1].Lock(name), 2)
	var loss *lock.LostError
	require.ErrorAs(t, ended(t, held), &loss)
	require.Equal(t, lock.LossMaxHold, loss.Reason)
	require.NoError(t, has(t, got).unlock())
	require.ErrorIs(t, unlock(), lock.ErrLost)
}
