package links_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// A server that says that it cannot serve loses all its connections: the one that brought the refusal, and those that
// are idle. A new one may lead to a server that serves (defect G3).
func TestARefusalClosesTheConnectionsToItsServer(t *testing.T) {
	t.Parallel()
	for _, refusal := range []string{
		"LOADING Redis is loading the dataset in memory",
		"READONLY You can't write against a read only replica.",
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
		"CLUSTERDOWN The cluster is down",
	} {
		word, _, _ := strings.Cut(refusal, " ")
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			l, proxy := faulty(t)
			pool := l.Traffic.(*redis.Client)
			const conns = 3
			gate := faultproxy.NewGate()
			held := proxy.On(faultproxy.Command("echo"), faultproxy.HoldReply(gate)).Times(conns)
			var all sync.WaitGroup
			for range conns {
				all.Go(func() {
					if err := echo(t.Context(), pool, "on a connection of its own"); err != nil {
						t.Error(err)
					}
				})
			}
			held.Wait(t, conns)
			gate.Open()
			all.Wait()
			made := pool.PoolStats().Misses
			proxy.On(faultproxy.Command("echo"), faultproxy.AnswerError(refusal)).Times(1)
			require.ErrorContains(t, echo(t.Context(), pool, "refused"), word)
			require.NoError(t, echo(t.Context(), pool, "by a new connection"))
			require.Equal(t, made+1, pool.PoolStats().Misses)
			require.EqualValues(t, 1, pool.PoolStats().TotalConns, "the others are closed")
		})
	}
}

// A request whose connection is closed here is told why, whether it was under way or about to be sent (defect G3).
func TestARequestIsToldWhyItsConnectionWasClosed(t *testing.T) {
	t.Parallel()
	for word, closes := range map[string]func(t *testing.T, proxy *faultproxy.Proxy, other *redis.Conn){
		"MASTERDOWN": func(t *testing.T, proxy *faultproxy.Proxy, other *redis.Conn) {
			proxy.On(faultproxy.Command("echo"), faultproxy.AnswerError("MASTERDOWN Link with MASTER is down")).Times(1)
			require.Error(t, other.Echo(t.Context(), "refused").Err())
		},
		"was not answered": func(t *testing.T, proxy *faultproxy.Proxy, other *redis.Conn) {
			proxy.On(faultproxy.Command("echo"), faultproxy.DropReply).Times(1)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			require.Error(t, other.Echo(ctx, "lost").Err())
		},
	} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			l, proxy := faulty(t)
			pool := l.Traffic.(*redis.Client)
			conn, other := pool.Conn(), pool.Conn()
			defer func() { _, _ = conn.Close(), other.Close() }()
			for _, c := range []*redis.Conn{conn, other} {
				require.NoError(t, c.Echo(t.Context(), "it is taken out of the pool").Err())
			}
			closes(t, proxy, other)
			err := conn.Echo(t.Context(), "about to be sent").Err()
			require.ErrorIs(t, err, net.ErrClosed)
			require.ErrorContains(t, err, word)
		})
	}
	t.Run("under way", func(t *testing.T) {
		t.Parallel()
		l, proxy := faulty(t)
		held := proxy.On(faultproxy.Command("echo"), faultproxy.DropReply)
		result := make(chan error, 1)
		go func() { result <- echo(context.Background(), l.Traffic, "under way") }()
		held.Wait(t, 1)
		_ = l.Close()
		require.ErrorContains(t, redistest.Receive(t, eventually, result, "it goes on"), "the client is closed")
	})
}
