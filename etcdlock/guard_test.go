package etcdlock_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/lock"
)

// guarded writes under a condition, and returns whether it did.
func guarded(t *testing.T, plain *clientv3.Client, name string, stands clientv3.Cmp) bool {
	t.Helper()
	reply, err := plain.Txn(within(t)).If(stands).Then(clientv3.OpPut(name+"-account", "10")).Commit()
	require.NoError(t, err)
	return reply.Succeeded
}

// A transaction under a hold's condition is carried out while the hold stands, and never again: neither for a holder
// that does not know yet that its lock is another's, nor for one whose lock went to another caller of its process.
// (defect G30)
func TestATransactionUnderAGuard(t *testing.T) {
	t.Parallel()
	for what, ends := range map[string]func(t *testing.T, c *etcdlock.Client, plain *clientv3.Client, l *lock.Lock,
		unlock func() error) (next func() error){
		"another client has the lock": func(t *testing.T, c *etcdlock.Client, plain *clientv3.Client, l *lock.Lock,
			_ func() error) func() error {
			got := waits(t, plain, client(t, plain, etcdlock.Options{}).Lock(l.Name()), 2)
			_, err := plain.Delete(within(t), stand(t, plain, l.Name(), 2)[0])
			require.NoError(t, err)
			return has(t, got).unlock
		},
		"nobody has it": func(t *testing.T, _ *etcdlock.Client, _ *clientv3.Client, _ *lock.Lock,
			unlock func() error) func() error {
			require.NoError(t, unlock())
			return func() error { return nil }
		},
		"another caller of the process": func(t *testing.T, c *etcdlock.Client, _ *clientv3.Client, l *lock.Lock,
			unlock func() error) func() error {
			got := make(chan turn, 1)
			ctx := within(t)
			go func() {
				held, unlock, err := l.Lock(ctx)
				got <- turn{held, unlock, err}
			}()
			eventually(t, func() bool { return c.Stats().Waiters == 1 }, "it waits")
			require.NoError(t, unlock())
			return has(t, got).unlock
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			all, plain := clients(t, 1, etcdlock.Options{Lease: never})
			l := all[0].Lock(nameOf(t))
			held, unlock := take(t, l)
			stands, err := etcdlock.Guard(held, l)
			require.NoError(t, err)
			require.True(t, guarded(t, plain, l.Name(), stands))
			next := ends(t, all[0], plain, l, unlock)
			require.False(t, guarded(t, plain, l.Name(), stands))
			require.NoError(t, next())
			require.False(t, guarded(t, plain, l.Name(), stands))
		})
	}
}

// Without a hold there is no condition, but an error that says why (defect G30).
func TestAGuardOfNothing(t *testing.T) {
	t.Parallel()
	all, plain := clients(t, 1, etcdlock.Options{Lease: never})
	l := all[0].Lock(nameOf(t))
	_, err := etcdlock.Guard(t.Context(), l)
	require.ErrorIs(t, err, lock.ErrNotHeld)
	held, _ := take(t, l)
	_, err = plain.Revoke(within(t), leaseOf(t, plain, stand(t, plain, l.Name(), 1)[0]))
	require.NoError(t, err)
	taken(t, all[0].Lock(l.Name()+"-other")) // so it learns of that
	_, err = etcdlock.Guard(held, l)
	require.ErrorIs(t, err, lock.ErrLost)

	var bad *lock.ArgumentError
	var none context.Context
	for _, one := range []struct {
		ctx  context.Context
		l    *lock.Lock
		name string
	}{
		{none, l, "ctx"}, {held, nil, "lock"}, {held, new(lock.Lock), "lock"}, {held, all[0].Lock(""), "name"},
	} {
		_, err := etcdlock.Guard(one.ctx, one.l)
		require.ErrorAs(t, err, &bad)
		require.Equal(t, one.name, bad.Name)
	}
}
