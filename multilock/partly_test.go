package multilock_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

// partly begins a call whose first request takes all names of which nobody is told, after which somebody
// else comes to the first name. It returns when the request was sent again and found it so.
func partly(
	t *testing.T, lease time.Duration,
) (n []string, c, rival *rlock.Client, unlock func() error, got <-chan outcome) {
	t.Helper()
	server := redistest.Shared(t)
	proxy := faultproxy.Start(t, server.Addr())
	ctx, script := within(t), faultproxy.Script(luacall.SHA("acquire_all"))
	c, rival = clientAt(t, proxy.Addr(), nil), clientAt(t, server.Addr(), nil)
	n = names(t, 2)
	slices.Sort(n) // the order in which they are asked for
	free(t, c, n...)
	lost := proxy.On(script, faultproxy.DropReply)
	var stopped atomic.Bool
	stopped.Store(true)
	proxy.On(func(r faultproxy.Request) bool { return stopped.Load() && script(r) },
		faultproxy.DropRequest).Times(-1)
	began := make(chan outcome, 1)
	m := multilock.New(locks(c, n...), rlock.FixedLease(lease))
	go func() {
		held, unlock, err := m.Lock(context.Background())
		began <- outcome{held, unlock, err}
	}()
	lost.Wait(t, 1)
	require.NoError(t, server.Client(t).Del(ctx, n[0]).Err())
	_, unlock, err := rlock.New(rival, n[0]).Lock(ctx)
	require.NoError(t, err)
	stopped.Store(false)
	sent := proxy.Requests(script)
	redistest.Eventually(t, patience, func() bool { return proxy.Requests(script) > sent },
		"the request was not sent again")
	return n, c, rival, unlock, began
}

// bug 43: a waiter holds nothing, even if an earlier copy of its request took something that it does not know of.
func TestAWaiterGivesBackWhatAnEarlierCopyTook(t *testing.T) {
	t.Parallel()
	n, _, rival, unlock, got := partly(t, time.Hour)
	free(t, rival, n[1])
	require.NoError(t, unlock())
	o := <-got
	require.NoError(t, o.err)
	require.NoError(t, o.unlock())
	free(t, rival, n...)
}

// bug 42: no member counts as live for longer than Redis keeps it, whichever copy of the request took it.
func TestValidityOfWhatAnEarlierCopyTook(t *testing.T) {
	t.Parallel()
	const lease = 4 * time.Second
	n, c, rival, unlock, got := partly(t, lease)
	time.Sleep(lease / 4) // by what lies between the copies, the hold would be live too long
	require.NoError(t, unlock())
	o := <-got
	require.NoError(t, o.err)
	for _, name := range n {
		hold, err := rlock.New(c, name).Held(o.held)
		require.NoError(t, err)
		ttl, err := redistest.Shared(t).Client(t).PTTL(within(t), name).Result()
		require.NoError(t, err)
		require.Less(t, time.Until(hold.ValidUntil), ttl+time.Millisecond, name)
	}
	require.NoError(t, o.unlock())
	free(t, rival, n...)
}
