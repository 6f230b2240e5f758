package faultproxy_test

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

func TestBlackhole(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		conn := l.rdb.Conn()
		defer func() { _ = conn.Close() }()
		require.NoError(t, conn.Ping(t.Context()).Err())
		l.proxy.Blackhole(true)
		unanswered(t, l.runBriefly(t))
		unanswered(t, l.runBriefly(t))
		l.proxy.Blackhole(false)
		require.Error(t, conn.Ping(t.Context()).Err(), "its bytes would not be in order")
		l.works(t)
		require.Zero(t, l.effects(t))
	})
}

func TestForget(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		conn := l.rdb.Conn()
		defer func() { _ = conn.Close() }()
		require.NoError(t, conn.Ping(t.Context()).Err())
		require.Positive(t, l.proxy.Forget())
		briefly, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		unanswered(t, conn.Ping(briefly).Err())
		l.works(t)
	})
}

func TestBlackholeHidesTheDeathOfTheServer(t *testing.T) {
	server := redistest.Start(t)
	proxy := faultproxy.Start(t, server.Addr())
	rdb := redis.NewClient(&redis.Options{
		Addr: proxy.Addr(), MaxRetries: -1, ContextTimeoutEnabled: true,
	})
	defer func() { require.NoError(t, rdb.Close()) }()
	require.NoError(t, rdb.Ping(t.Context()).Err())
	proxy.Blackhole(true)
	server.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), short)
	defer cancel()
	unanswered(t, rdb.Ping(ctx).Err())
}

func TestRefuse(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		l.proxy.Refuse(true)
		l.proxy.Refuse(true)
		l.works(t)
		fresh := l.client(t)
		require.ErrorContains(t, fresh.Ping(t.Context()).Err(), "refused")
		_, err := net.ListenPacket("udp", l.proxy.Addr()) // which is how others claim a port
		require.Error(t, err, "clients could reach another proxy")
		l.proxy.Refuse(false)
		l.proxy.Refuse(false)
		redistest.Eventually(t, limit, func() bool {
			return fresh.Ping(t.Context()).Err() == nil
		}, "the proxy does not listen again")
	})
}

func TestRefusingProxyEnds(t *testing.T) {
	l := newLab(t, 3)
	l.proxy.Refuse(true)
}

func TestCutAll(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		conn := l.rdb.Conn()
		defer func() { _ = conn.Close() }()
		require.NoError(t, conn.Ping(t.Context()).Err())
		l.proxy.CutAll()
		require.ErrorIs(t, conn.Ping(t.Context()).Err(), io.EOF)
		l.works(t)
	})
}

func TestDribble(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		const pieces, pause = 400, 200 * time.Microsecond
		l.proxy.Dribble()
		text, start := strings.Repeat("abc", pieces), time.Now()
		require.Equal(t, text, l.rdb.Echo(t.Context(), text).Val())
		require.GreaterOrEqual(t, time.Since(start), 2*pieces*pause, "both ways")
	})
}

func TestLatency(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		const each, requests = 50 * time.Millisecond, 40
		l.proxy.Latency(each)
		start := time.Now()
		cmds, err := l.rdb.Pipelined(t.Context(), func(pipe redis.Pipeliner) error {
			for range requests {
				increment.EvalSha(t.Context(), pipe, []string{l.key})
			}
			return nil
		})
		require.NoError(t, err)
		require.Len(t, cmds, requests)
		took := time.Since(start)
		require.GreaterOrEqual(t, took, 2*each)
		require.Less(t, took, requests*each, "what was sent together arrives together")
	})
}

func TestProxyEndsWithRequestsOnTheWay(t *testing.T) {
	bothProtocols(t, func(t *testing.T, l *lab) {
		gate := faultproxy.NewGate()
		l.proxy.On(faultproxy.AnyScript, faultproxy.HoldRequest(gate))
		l.proxy.On(faultproxy.AnyScript, faultproxy.HoldReply(gate))
		l.proxy.On(faultproxy.AnyScript, faultproxy.Late(gate))
		l.proxy.On(faultproxy.AnyScript, faultproxy.DropReply)
		for range 4 {
			unanswered(t, l.runBriefly(t))
		}
		// The gate stays closed: that the test ends is what is tested.
	})
}

func TestServerThatEndsEndsItsConnections(t *testing.T) {
	server := redistest.Start(t)
	proxy := faultproxy.Start(t, server.Addr())
	rdb := redis.NewClient(&redis.Options{Addr: proxy.Addr(), MaxRetries: -1, DialerRetries: 1})
	defer func() { require.NoError(t, rdb.Close()) }()
	require.NoError(t, rdb.Ping(t.Context()).Err())
	server.Kill()
	require.Error(t, rdb.Ping(t.Context()).Err())
	server.Restart()
	redistest.Eventually(t, limit, func() bool { return rdb.Ping(t.Context()).Err() == nil },
		"the proxy does not reach the restarted server")
}
