package links_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/netfault"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// go-redis checks the socket of a connection before it uses it, and must be able to: what lies around the socket shows
// it.
func TestAConnectionThatWasHungUpIsNotUsed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	l := patient(t, server.Client(t))
	admin := server.Client(t)
	for range 20 {
		require.NoError(t, echo(t.Context(), l.Traffic, "on a connection that lives"))
		require.NoError(t, admin.ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err())
		redistest.Eventually(t, eventually, func() bool {
			clients, err := admin.ClientList(t.Context()).Result()
			return err == nil && strings.Count(clients, "\n") == 1
		}, "it is not closed")
	}
}

// An exchange waits for a silent server until its own deadline, and no longer.
func TestEveryExchangeHasItsDeadline(t *testing.T) {
	t.Parallel()
	l, proxy := faulty(t)
	for range 3 {
		require.NoError(t, echo(t.Context(), l.Traffic, "it answers")) // and is taken out of the pool next time
	}
	lost := proxy.On(faultproxy.Command("echo"), faultproxy.DropReply)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begun := time.Now()
	require.Error(t, echo(ctx, l.Traffic, "lost"))
	require.Less(t, time.Since(begun), eventually)
	lost.Wait(t, 1)
}

// The derived client works over connections without deadlines, and an exchange that is not answered ends by its own: at the
// price of its connection (defect G52).
func TestConnectionsWithoutDeadlines(t *testing.T) {
	t.Parallel()
	proxy := faultproxy.Start(t, redistest.Shared(t).Addr())
	given := redis.NewClient(&redis.Options{
		ReadTimeout: -2, WriteTimeout: -2,
		Dialer: func(ctx context.Context, network, _ string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, proxy.Addr())
			return netfault.Tunnel{Conn: conn}, err
		},
	})
	t.Cleanup(func() { require.NoError(t, given.Close()) })
	l := patient(t, given)
	c := l.Traffic
	require.NoError(t, echo(t.Context(), c, "it answers"))
	require.NoError(t, echo(t.Context(), c, "and again"))
	lost := proxy.On(faultproxy.Command("echo"), faultproxy.DropReply)
	ctx := links.Within(t.Context(), 50*time.Millisecond)
	begun := time.Now()
	require.Error(t, echo(ctx, c, "lost"))
	require.Less(t, time.Since(begun), eventually)
	lost.Wait(t, 1)
	require.NoError(t, echo(t.Context(), c, "by another connection"))
}
