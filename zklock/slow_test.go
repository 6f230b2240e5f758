package zklock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/zklock"
)

// A request with little time is given up, and its connection not taken for a silent one: then all others of the client
// would have to wait until there is another. (defect G72)
func TestARequestWithLittleTimeOnASlowPath(t *testing.T) {
	t.Parallel()
	path := tcpproxy.Start(t, zktest.Shared(t).Addr())
	sent := &wire{}
	c := client(t, zklock.Options{
		Lease: never / 6, ReleaseTimeout: 500 * time.Millisecond, Dial: sent.Dial,
	}, path.Addr())
	name := nameOf(t)
	_, unlock := take(t, c.Lock(name))
	path.Latency(400 * time.Millisecond)
	attached := sent.Count(sweeping)
	require.ErrorIs(t, unlock(), lock.ErrUnconfirmed)
	_, unlock = take(t, c.Lock(name+"-other"))
	require.Equal(t, attached, sent.Count(sweeping), "the connection is the same")
	path.Latency(0)
	require.NoError(t, unlock())
}
