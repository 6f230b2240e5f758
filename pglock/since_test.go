package pglock_test

import (
	"context"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/pgtest"
	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

// A lease counts from the first request that may have begun it, also if the connection broke before the answer and
// no connection could be made for a while.
func TestALeaseCountsFromARequestWhoseConnectionBroke(t *testing.T) {
	t.Parallel()
	database := database(t)
	to, err := url.Parse(database)
	require.NoError(t, err)
	server := to.Host
	path := tcpproxy.Start(t, server)
	to.Host = path.Addr()
	const lease = 30 * time.Second
	c := client(t, pool(t, to.String()), pglock.Options{Lease: lease})
	_, unlock := take(t, within(t), c.Lock("order"))
	require.NoError(t, unlock())

	path.Hold(tcpproxy.Replies, true)
	held := make(chan context.Context, 1)
	go func() {
		ctx, _, err := c.Lock("order", lock.FixedLease(lease)).Lock(within(t))
		if err == nil {
			held <- ctx
		}
	}()
	pgtest.Eventually(t, func() bool {
		return pgtest.Run(t, database, "SELECT count(*) FROM holdfast_lock WHERE until > clock_timestamp()") == "1"
	}, "the request is carried out")
	path.Target("127.0.0.1:1") // where nobody listens
	path.CutAll()
	path.Hold(tcpproxy.Replies, false)
	time.Sleep(2 * time.Second) // the fault itself: more than what a clock may be wrong by during the lease
	path.Target(server)
	hold, err := c.Lock("order").Held(await(t, held, "Lock returns"))
	require.NoError(t, err)
	until, err := time.Parse(time.RFC3339Nano, pgtest.Run(t, database,
		`SELECT to_char(until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') FROM holdfast_lock`))
	require.NoError(t, err)
	require.False(t, hold.ValidUntil.After(until), "valid until %v, and the lease ends at %v", hold.ValidUntil, until)
}
