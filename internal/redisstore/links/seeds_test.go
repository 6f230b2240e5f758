package links_test

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/links"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// hole is the address of a server that accepts connections and never answers.
func hole(t *testing.T) string {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var all []net.Conn
	var accepting sync.WaitGroup
	accepting.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			all = append(all, conn)
		}
	})
	t.Cleanup(func() {
		_ = ln.Close()
		accepting.Wait()
		for _, conn := range all {
			_ = conn.Close()
		}
	})
	return ln.Addr().String()
}

func holes(t *testing.T, n int) (addrs []string) {
	for range n {
		addrs = append(addrs, hole(t))
	}
	return addrs
}

// slow are limits by which an address that does not answer costs more than all else.
var slow = links.Limits{Command: 5 * time.Second, Life: time.Hour}

// defect G5: addresses of a cluster that are out of date cost a moment, and not a time limit each.
func TestAClusterIsFoundByTheSeedThatAnswers(t *testing.T) {
	t.Parallel()
	lab := redistest.Cluster(t, 2)
	server := redistest.Shared(t) // which belongs to no cluster
	for name, stale := range map[string][]string{
		"they do not answer":         holes(t, 5),
		"they refuse connections":    {"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"},
		"they belong to no cluster":  {server.Addr()},
		"there is none":              nil,
		"all of that, and the worst": append(holes(t, 2), server.Addr(), "127.0.0.1:1"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := links.From(redis.NewClusterClient(&redis.ClusterOptions{
				Addrs: append(stale, lab.Node(0).Addr()),
			}), slow)
			require.NoError(t, err)
			defer func() { _ = l.Close() }()
			began := time.Now()
			require.NoError(t, l.Ready(t.Context(), slow.Command))
			require.Less(t, time.Since(began), slow.Command)
			require.True(t, l.Known())
			require.Contains(t, lab.Addrs(), l.Shard(t.Context(), "a"))
		})
	}
}

// unreached are clients whose servers are never reached.
func unreached(t *testing.T) map[string]*redis.ClusterOptions {
	lab, stop := redistest.Cluster(t, 1), make(chan struct{})
	t.Cleanup(func() { close(stop) })
	hang := func() { <-stop }
	return map[string]*redis.ClusterOptions{
		"one that never answers": {Addrs: holes(t, 1)},
		"six that never answer":  {Addrs: holes(t, 6)},
		"a greeting of TLS":      {Addrs: holes(t, 3), TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12}},
		"a dialer": {Addrs: []string{"a.test:1", "b.test:1"}, Dialer: func(context.Context, string, string) (net.Conn, error) {
			hang()
			return nil, net.ErrClosed
		}},
		"OnConnect":       {Addrs: lab.Addrs(), OnConnect: func(context.Context, *redis.Conn) error { hang(); return nil }},
		"the credentials": {Addrs: lab.Addrs(), CredentialsProvider: func() (_, _ string) { hang(); return }},
		"the map of the application": {ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
			hang()
			return nil, net.ErrClosed
		}},
	}
}

// defect G5: before the first map of the slots is there, whatever hangs, a caller waits for as long as it may, and Close
// does not wait at all.
func TestNothingWaitsForAClusterThatIsNeverReached(t *testing.T) {
	t.Parallel()
	for name, given := range unreached(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := links.From(redis.NewClusterClient(given), slow)
			require.NoError(t, err)
			ctx, cancel := context.WithTimeout(t.Context(), slow.Command/20)
			defer cancel()
			began := time.Now()
			require.Error(t, l.Ready(ctx, slow.Command), "until its context ends")
			require.Error(t, l.Ready(t.Context(), slow.Command/20), "until its limit")
			require.Empty(t, l.Shard(t.Context(), "a"))
			left := make(chan error, 1)
			go func() { left <- l.Ready(context.Background(), slow.Command) }()
			l.Leave()
			require.Error(t, <-left)
			_ = l.Close()
			require.Less(t, time.Since(began), slow.Command)
		})
	}
}

// A cluster that tells no addresses of its nodes is an error with that cause, and no "nil". Servers before 7.0 have no
// such setting. (defect G35)
func TestAClusterThatTellsNoAddressesIsNamed(t *testing.T) {
	t.Parallel()
	lab := redistest.Cluster(t, 1)
	rdb := redis.NewClient(&redis.Options{Addr: lab.Node(0).Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	err := rdb.ConfigSet(t.Context(), "cluster-preferred-endpoint-type", "unknown-endpoint").Err()
	if err != nil {
		require.ErrorContains(t, err, "Unsupported CONFIG parameter")
		return
	}
	l, err := links.From(redis.NewClusterClient(&redis.ClusterOptions{Addrs: lab.Addrs()}), slow)
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	require.ErrorContains(t, l.Ready(t.Context(), slow.Command), "set cluster-preferred-endpoint-type to ip or hostname")
}
