package etcdlock_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/internal/testkit/textlog"
	"github.com/holdfast-go/holdfast/lock"
)

// In an outage the log says that etcd is available again when etcd has answered, and not when the client knows without
// asking that a release has nothing to do, because its acquisition was under no lease.
func TestAnOutageEndsWithAnAnswer(t *testing.T) {
	t.Parallel()
	server, said := etcdtest.Start(t), new(textlog.Log)
	c := client(t, connect(t, server.Endpoint()), etcdlock.Options{
		Lease: brief, Logger: said.Logger(),
	})
	held, unlock := take(t, c.Lock("held"))
	server.Freeze()
	eventually(t, func() bool { return strings.Contains(said.String(), "etcd is unavailable") }, "the outage is told")
	_ = await(t, held.Done(), "the loss")
	for range 2 { // what the first may have left is released while the second waits
		_, _, err := c.Lock("other").Lock(within(t))
		require.ErrorIs(t, err, lock.ErrUnavailable)
	}
	require.NotContains(t, said.String(), "available again")
	require.Error(t, unlock())
	server.Thaw()
	taken(t, c.Lock("held"))
	require.Contains(t, said.String(), "etcd is available again")
}
