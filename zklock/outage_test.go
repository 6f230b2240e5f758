package zklock_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/textlog"
	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/zklock"
)

// In an outage the log says that ZooKeeper is available again when it has answered, and not when the client knows
// without asking that a release has nothing to do, because its session is over.
func TestAnOutageEndsWithAnAnswer(t *testing.T) {
	t.Parallel()
	server, said := zktest.Start(t, zktest.Options{}), new(textlog.Log)
	c := client(t, zklock.Options{Lease: brief, Logger: said.Logger()}, server.Addr())
	held, unlock := take(t, c.Lock("held"))
	server.Freeze()
	before := len(said.String()) // a busy machine may have been silent as well
	saidSince := func() string { return said.String()[before:] }
	eventually(t, func() bool { return strings.Contains(saidSince(), "ZooKeeper is unavailable") }, "the outage is told")
	_ = await(t, held.Done(), "the loss")
	for range 2 { // what the first may have left is released while the second waits
		_, _, err := c.Lock("other").Lock(within(t))
		require.ErrorIs(t, err, lock.ErrUnavailable)
	}
	require.NotContains(t, saidSince(), "available again")
	require.Error(t, unlock())
	server.Resume()
	taken(t, c.Lock("held"))
	require.Contains(t, saidSince(), "ZooKeeper is available again")
}
