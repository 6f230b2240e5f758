package etcdlock_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/lock"
)

// requireGone requires that a hold has ended, because etcd said that it is gone.
func requireGone(t *testing.T, held context.Context) {
	t.Helper()
	var loss *lock.LostError
	require.ErrorAs(t, context.Cause(held), &loss)
	require.ErrorIs(t, loss, lock.ErrLost)
	require.Equal(t, lock.LossGone, loss.Reason)
}

// A client that learns that its lease is gone ends all holds under it before it goes on under another one. (defect G24)
func TestAClientThatKnowsThatItsLeaseIsGone(t *testing.T) {
	t.Parallel()
	for what, learns := range map[string]func(t *testing.T, c *etcdlock.Client, name string){
		"by a Lock": func(t *testing.T, c *etcdlock.Client, name string) { taken(t, c.Lock(name)) },
		"by a TryLock": func(t *testing.T, c *etcdlock.Client, name string) {
			_, unlock, err := c.Lock(name).TryLock(within(t))
			require.NoError(t, err)
			require.NoError(t, unlock())
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			all, plain := clients(t, 2, etcdlock.Options{Lease: never})
			name := nameOf(t)
			first, unlock := take(t, all[0].Lock(name))
			second, _ := take(t, all[0].Lock(name+"-second"))
			_, err := plain.Revoke(within(t), leaseOf(t, plain, stand(t, plain, name, 1)[0]))
			require.NoError(t, err)
			_, theirs := take(t, all[1].Lock(name))
			learns(t, all[0], name+"-other")
			requireGone(t, first)
			requireGone(t, second)
			require.ErrorIs(t, unlock(), lock.ErrLost)
			require.NoError(t, theirs())
		})
	}
}

// A holder is told at once that its key was deleted, or its lease revoked, or its lock broken by another client: it has
// its key watched, and its next renewal is far away. (defects G24 and G60)
func TestAHolderWhoseKeyIsDeleted(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	plain := connect(t, server.Endpoint())
	for what, happens := range map[string]func(t *testing.T, plain *clientv3.Client, name, key string){
		"by hand": func(t *testing.T, plain *clientv3.Client, _, key string) {
			_, err := plain.Delete(within(t), key)
			require.NoError(t, err)
		},
		"with its lease": func(t *testing.T, plain *clientv3.Client, _, key string) {
			_, err := plain.Revoke(within(t), leaseOf(t, plain, key))
			require.NoError(t, err)
		},
		"by Break": func(t *testing.T, plain *clientv3.Client, name, _ string) {
			require.NoError(t, client(t, plain, etcdlock.Options{}).Lock(name).Break(within(t)))
		},
	} {
		t.Run(what, func(t *testing.T) {
			c := client(t, connect(t, server.Endpoint()), etcdlock.Options{Lease: never})
			name := nameOf(t)
			held, unlock := take(t, c.Lock(name))
			other, end := take(t, c.Lock(name+"-other"))
			eventually(t, func() bool { n, err := server.Watches(); return err == nil && n == 2 }, "both are watched")
			young, leave := take(t, c.Lock(name+"-young"))
			happens(t, plain, name, stand(t, plain, name, 1)[0])
			_ = ended(t, held)
			requireGone(t, held)
			require.ErrorIs(t, unlock(), lock.ErrLost)
			if what == "with its lease" {
				_, _ = ended(t, other), ended(t, young)
				requireGone(t, other)
				requireGone(t, young)
			} else {
				require.NoError(t, other.Err())
				require.NoError(t, end())
				require.NoError(t, leave())
			}
			eventually(t, func() bool { n, err := server.Watches(); return err == nil && n == 0 }, "nothing is watched")
		})
	}
}

// What is watched is watched again when the server comes back, with what happened meanwhile (defect G24).
func TestAHolderWhoseKeyIsDeletedBesideAnOutage(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	plain := connect(t, server.Endpoint())
	c := client(t, connect(t, server.Endpoint()), etcdlock.Options{Lease: never})
	name := nameOf(t)
	held, _ := take(t, c.Lock(name))
	watched := func() bool { n, err := server.Watches(); return err == nil && n == 1 }
	eventually(t, watched, "it is watched")
	server.Kill()
	server.Restart()
	eventually(t, watched, "it is watched again")
	require.NoError(t, held.Err())
	_, err := plain.Delete(within(t), stand(t, plain, name, 1)[0])
	require.NoError(t, err)
	_ = ended(t, held)
	requireGone(t, held)
}

// A client logs in for its connection, for the stream of its renewals, and for that of its watches, and not for each
// renewal or wait: etcd compares passwords by tens of milliseconds of its processor. (defect G50)
func TestAClientLogsInOnce(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t, "--bcrypt-cost=4") // passwords are compared quickly
	withUsers(t, server)
	logins := func() int {
		n, err := server.Calls("Authenticate")
		require.NoError(t, err)
		return n
	}
	root := connectAs(t, clientv3.Config{Endpoints: []string{server.Endpoint()}, Username: "root", Password: "root"})
	faults := &wire{}
	var all []*etcdlock.Client
	for range 2 {
		all = append(all, client(t, connectAs(t, clientv3.Config{
			Endpoints: []string{server.Endpoint()}, Username: "app", Password: password, DialOptions: faults.options(),
		}), etcdlock.Options{Lease: 3 * brief}))
	}
	for _, c := range all {
		_, _ = take(t, c.Lock("app/"+nameOf(t))) // so that both renew their leases
	}
	turns := func(n int) {
		l := "app/turns"
		_, unlock := take(t, all[0].Lock(l))
		for i := range n {
			got := waits(t, root, all[(i+1)%2].Lock(l), 2)
			require.NoError(t, unlock())
			unlock = has(t, got).unlock
		}
		require.NoError(t, unlock())
	}
	renewals := func(n int) {
		n += faults.Count(renewing)
		eventually(t, func() bool { return faults.Count(renewing) >= n }, "leases are renewed")
	}
	turns(4)
	renewals(2)
	before := logins()
	turns(20)
	renewals(4)
	require.Equal(t, before, logins())
}
