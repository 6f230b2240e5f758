package etcdlock_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/holding"
)

// The recipe of operations.md for another password loses no hold: a second user with the same role, programs that start
// anew with that, one after the other, and then the end of the first user. (defect G57)
func TestAnotherPasswordByASecondUser(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t, "--bcrypt-cost=4") // passwords are compared quickly
	withUsers(t, server)
	as := func(user, password string) *clientv3.Client {
		return connectAs(t, clientv3.Config{
			Endpoints: []string{server.Endpoint()}, Username: user, Password: password,
		})
	}
	ctl := func(command string) {
		server.Ctl(t, append([]string{"--user=root:root"}, strings.Fields(command)...)...)
	}
	root := as("root", "root")
	var seen holding.Renewals
	opts := etcdlock.Options{Lease: 2 * brief, Observer: seen.Observer()}
	first, other := client(t, as("app", password), opts), client(t, as("app", password), opts)
	held, unlock := take(t, first.Lock("app/a"))
	got := waits(t, root, other.Lock("app/a"), 2)

	ctl("user add app2:another")
	ctl("user grant-role app2 app")
	seen.Outlast(t, "app/a")
	require.NoError(t, held.Err())
	require.NoError(t, unlock())
	turn := has(t, got)

	next := client(t, as("app2", "another"), opts)
	theirs, release := take(t, next.Lock("app/b"))
	got = waits(t, root, next.Lock("app/a"), 2)
	require.NoError(t, turn.held.Err())
	require.NoError(t, turn.unlock())
	require.NoError(t, first.Close())
	require.NoError(t, other.Close())
	turn = has(t, got)

	ctl("user delete app")
	seen.Outlast(t, "app/a", "app/b")
	require.NoError(t, theirs.Err())
	require.NoError(t, turn.held.Err())
	require.NoError(t, release())
	require.NoError(t, turn.unlock())
	taken(t, next.Lock("app/c"))
}
