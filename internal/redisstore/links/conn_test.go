package links_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
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
