package wake_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/wake"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/watchdog"
)

// TestMain finds goroutines that a closed hub left behind.
func TestMain(m *testing.M) { redistest.Main(m) }

const (
	limit  = 20 * time.Second // of a wait for something that must happen
	linger = 50 * time.Millisecond
)

// options are those that package links derives.
func options(addr string) *redis.Options {
	return &redis.Options{
		Addr: addr, ContextTimeoutEnabled: true, MaxRetries: -1, DialerRetries: 1,
		DialTimeout: time.Second, ReadTimeout: time.Second, WriteTimeout: time.Second,
	}
}

// newHub makes a hub on one node, closed when the test ends.
func newHub(t *testing.T, opts *redis.Options, change ...func(*wake.Config)) *wake.Hub {
	t.Helper()
	rdb := redis.NewClient(opts)
	clock := watchdog.NewClock()
	wheel := watchdog.NewWheel(clock, 10*time.Millisecond)
	cfg := wake.Config{
		Open:    func(ctx context.Context) *redis.PubSub { return rdb.Subscribe(ctx) },
		Shard:   func(context.Context, string) string { return "" },
		Moved:   func(context.Context) {},
		Sharded: func(context.Context) (bool, error) { return false, nil },
		Wheel:   wheel, Clock: clock, Linger: linger, Limit: time.Second,
	}
	for _, f := range change {
		f(&cfg)
	}
	hub := wake.New(cfg)
	t.Cleanup(func() {
		hub.Close()
		wheel.Close()
		_ = rdb.Close()
	})
	return hub
}

func lingering(d time.Duration) func(*wake.Config) {
	return func(c *wake.Config) { c.Linger = d }
}

// listening joins, waits until the subscription is confirmed, and consumes the wake-up of that.
func listening(t testing.TB, hub *wake.Hub, channel string) *wake.Ticket {
	t.Helper()
	ticket := hub.Listen(channel)
	ready(t, ticket)
	woken(t, ticket, "the confirmation is a wake-up")
	return ticket
}

func ready(t testing.TB, ticket *wake.Ticket) {
	t.Helper()
	redistest.Receive(t, limit, ticket.Ready(), "the subscription was not confirmed")
}

func woken(t testing.TB, ticket *wake.Ticket, why string) {
	t.Helper()
	select {
	case <-ticket.C():
	case <-time.After(limit):
		require.FailNow(t, "no wake-up: "+why)
	}
}

// direct is a client that is no part of a test: it waits as long as the test does.
func direct(server *redistest.Server) *redis.Client {
	opts := options(server.Addr())
	opts.DialTimeout, opts.ReadTimeout, opts.WriteTimeout = limit, limit, limit
	return redis.NewClient(opts)
}

func publish(t testing.TB, server *redistest.Server, channel string) {
	t.Helper()
	rdb := direct(server)
	defer func() { _ = rdb.Close() }()
	require.NoError(t, rdb.Publish(context.Background(), channel, "0").Err())
}

// killSubscribers cuts every subscription connection of a server, from the server's side.
func killSubscribers(t testing.TB, server *redistest.Server) {
	t.Helper()
	rdb := direct(server)
	defer func() { _ = rdb.Close() }()
	require.NoError(t, rdb.ClientKillByFilter(context.Background(), "type", "pubsub").Err())
}

// subscribers counts a server's subscription connections.
func subscribers(t testing.TB, server *redistest.Server) int {
	t.Helper()
	return strings.Count(listSubscribers(t, server), "\n")
}

// pinged reports whether the last command on a subscription connection was a ping.
func pinged(t testing.TB, server *redistest.Server) bool {
	t.Helper()
	return strings.Contains(listSubscribers(t, server), " cmd=ping ")
}

func listSubscribers(t testing.TB, server *redistest.Server) string {
	t.Helper()
	rdb := direct(server)
	defer func() { _ = rdb.Close() }()
	list, err := rdb.Do(context.Background(), "client", "list", "type", "pubsub").Text()
	require.NoError(t, err)
	return list
}

func silent(t testing.TB, server *redistest.Server) {
	t.Helper()
	redistest.Eventually(t, limit, func() bool { return len(server.PubSubChannels(t)) == 0 },
		"channels that nobody waits for are still subscribed")
}
