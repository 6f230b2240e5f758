// Package onredis makes clients on Redis for the conformance suite, whose traffic is counted.
package onredis

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance"
	"github.com/holdfast-go/holdfast/internal/testkit/netfault"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// Lab makes two clients with a path each, and a lab of them. The caller adds how a lock is made, and what it lacks.
func Lab(t testing.TB, addr string, opts rlock.ClientOptions) (conformance.Lab, [2]*rlock.Client) {
	t.Helper()
	var sent redistest.Meter
	var clients [2]*rlock.Client
	var paths [2]*netfault.Path
	var listeners [2]conformance.Listener
	for i := range clients {
		paths[i] = &netfault.Path{Next: sent.Dial}
		opts := opts
		opts.Observer, opts.Logger = listeners[i].Observer(), listeners[i].Logger()
		clients[i] = client(t, addr, paths[i].Dial, opts)
	}
	plain := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = plain.Close() })
	return conformance.Lab{
		Close:    func(client int) error { return clients[client].Close() },
		Sent:     sent.Sent,
		Path:     func(client int) *netfault.Path { return paths[client] },
		Listener: func(client int) *conformance.Listener { return &listeners[client] },
		Stats:    func(client int) rlock.Stats { return clients[client].Stats() },
		Erase:    func(name string) { require.NoError(t, plain.Del(context.Background(), name).Err()) },
		Lease:    opts.Lease,
	}, clients
}

// Client makes a client, quiet by default, whose traffic is counted. It is closed with the test, whatever it still
// holds.
func Client(t testing.TB, addr string, sent *redistest.Meter, opts rlock.ClientOptions) *rlock.Client {
	t.Helper()
	return client(t, addr, sent.Dial, opts)
}

func client(t testing.TB, addr string, dial netfault.Dialer, opts rlock.ClientOptions) *rlock.Client {
	t.Helper()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	rdb := redis.NewClient(&redis.Options{Addr: addr, Dialer: dial})
	client, err := rlock.NewClient(rdb, &opts)
	require.NoError(t, err)
	t.Cleanup(func() {
		_ = client.Close()
		if err := rdb.Close(); err != nil && !errors.Is(err, redis.ErrClosed) {
			t.Error(err)
		}
	})
	return client
}
