package multilock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

// need 1, bug 1: a script that takes or releases all, and is lost, late or doubled, takes effect once.
func TestEveryRequestTakesEffectOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	opts := &rlock.ClientOptions{Lease: 3 * time.Second}
	for _, script := range []string{"acquire_all", "release_many"} {
		for name, action := range map[string]faultproxy.Action{
			"the reply is lost":            faultproxy.DropReply,
			"the connection is cut after":  faultproxy.CutAfter,
			"the connection is cut before": faultproxy.CutBefore,
			"the request is lost":          faultproxy.DropRequest,
			"it arrives twice":             faultproxy.Duplicate,
		} {
			t.Run(script+"/"+name, func(t *testing.T) {
				t.Parallel()
				proxy := faultproxy.Start(t, server.Addr())
				ctx, c, rival := within(t), clientAt(t, proxy.Addr(), opts), clientAt(t, server.Addr(), nil)
				n := names(t, 3)
				m := multilock.New(locks(c, n...))
				free(t, c, n...)
				struck := proxy.On(faultproxy.Script(luacall.SHA(script)), action)
				held, unlock, err := m.Lock(ctx)
				require.NoError(t, err)
				holds, err := m.Held(held)
				require.NoError(t, err)
				for _, name := range n {
					info, err := rlock.New(rival, name).Inspect(ctx)
					require.NoError(t, err)
					require.Len(t, info.Holders, 1)
					require.Equal(t, holds[0].ID, info.Holders[0].ID)
					require.Equal(t, 1, info.Holders[0].Count)
				}
				require.NoError(t, unlock())
				struck.Wait(t, 1)
				free(t, rival, n...)
			})
		}
	}
}

// A reply that comes when nobody waits for it any more is cleaned up after.
func TestACallThatIsGivenUpInMidAir(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	proxy := faultproxy.Start(t, server.Addr())
	c, rival := clientAt(t, proxy.Addr(), nil), clientAt(t, server.Addr(), nil)
	n := names(t, 3)
	free(t, c, n...)
	gate := faultproxy.NewGate()
	t.Cleanup(gate.Open)
	late := proxy.On(faultproxy.Script(luacall.SHA("acquire_all")), faultproxy.HoldReply(gate))
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error, 1)
	go func() {
		_, _, err := multilock.New(locks(c, n...)).Lock(ctx)
		failed <- err
	}()
	late.Wait(t, 1)
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	gate.Open()
	free(t, rival, n...)
}

// Defect E4: while a slot is moved, no script can serve keys that are here and there: the locks are released one by one,
// and taken again by one script when the slot has moved.
func TestASlotOnTheMove(t *testing.T) {
	t.Parallel()
	lab := redistest.Cluster(t, 3)
	c := client(t, lab.Client(t), nil)
	n := []string{"{moving}:a", "{moving}:b", "{moving}:c"}
	m := multilock.New(locks(c, n...))
	free(t, c, n...)
	slot := lab.Slot(t, n[0])
	from := lab.NodeFor(t, slot)
	to := (from + 1) % lab.Len()

	before, unlock, err := m.Lock(within(t))
	require.NoError(t, err)
	lab.SetSlotMigrating(t, slot, from, to)
	lab.MoveKeys(t, slot, from, to, n[1])
	require.NoError(t, before.Err())
	require.NoError(t, unlock())
	_, _, err = m.TryLock(within(t))
	require.ErrorIs(t, err, rlock.ErrUnavailable)
	came := make(chan error, 1)
	go func() {
		held, unlock, err := m.Lock(within(t))
		if err == nil {
			_, err = m.Held(held)
		}
		came <- err
		if err == nil {
			_ = unlock()
		}
	}()
	select {
	case err := <-came:
		require.Fail(t, "it does not wait until the slot has moved", "%v", err)
	case <-time.After(500 * time.Millisecond):
	}
	lab.MoveKeys(t, slot, from, to) // the tokens: a node refuses to give up a slot of which it has keys
	lab.FinishSlot(t, slot, to)
	require.NoError(t, <-came)
	require.NoError(t, m.Do(within(t), func(context.Context) error { return nil }))
	free(t, c, n...)
}

// On a cluster names of one slot are taken by one script, and names of many slots one after the other.
func TestOnACluster(t *testing.T) {
	t.Parallel()
	lab := redistest.Cluster(t, 3)
	c, rival := client(t, lab.Client(t), nil), client(t, lab.Client(t), nil)
	calls := func() (n int64) {
		for i := range lab.Len() {
			n += lab.Node(i).Calls(t, "evalsha")
		}
		return n
	}
	for name, n := range map[string][]string{
		"one slot":   {"{tenant}:a", "{tenant}:b", "{tenant}:c"},
		"many slots": {"order:1", "order:2", "order:3", "{tenant}:d", "{tenant}:e"},
	} {
		m := multilock.New(locks(c, n...))
		free(t, c, n...)
		before := calls()
		held, unlock, err := m.Lock(within(t))
		require.NoError(t, err)
		want := int64(1)
		if name == "many slots" {
			want = 4
		}
		require.Equal(t, want, calls()-before, name)
		holds, err := m.Held(held)
		require.NoError(t, err)
		require.Len(t, holds, len(n))
		_, _, err = rlock.New(rival, n[1]).TryLock(within(t))
		require.ErrorIs(t, err, rlock.ErrBusy)
		require.NoError(t, unlock())
		free(t, rival, n...)
	}
}

// The script that takes all leaves nothing where it is refused half-way.
func TestFullMemory(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	c := clientAt(t, server.Addr(), nil)
	n := names(t, 3)
	m := multilock.New(locks(c, n...))
	_, unlock, err := m.Lock(within(t))
	require.NoError(t, err)
	require.NoError(t, rdb.ConfigSet(within(t), "maxmemory", "1").Err())
	other := locks(c, "other:1", "other:2")
	_, _, err = multilock.New(other).TryLock(within(t))
	require.ErrorIs(t, err, rlock.ErrUnavailable)
	require.NoError(t, unlock(), "what is held can be released")
	left, err := rdb.Exists(within(t), append(n, "other:1", "other:2")...).Result()
	require.NoError(t, err)
	require.Zero(t, left)
}
