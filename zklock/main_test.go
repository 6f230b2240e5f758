package zklock_test

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/holding"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/internal/testkit/zktest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/zklock"
)

func TestMain(m *testing.M) {
	role.Play()
	zktest.ServeExamples()
	servers.InParallel(24) // they wait for leases
	zktest.Main(m)
}

const (
	// never is a poll interval: whatever wakes a waiter, it is not that.
	never = 10 * holding.Patience
	// brief is the shortest lease, for tests in which one ends.
	brief = 4 * time.Second
)

// What the tests of other stores do, too.
var (
	nameOf, within, take, taken = holding.Name, holding.Within, holding.Take, holding.Taken
	fenceOf, ended              = holding.Fence, holding.Ended
)

// client makes a client that is closed with the test, whatever it still holds.
func client(t testing.TB, opts zklock.Options, addresses ...string) *zklock.Client {
	t.Helper()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if opts.MaxPoll == 0 {
		opts.MaxPoll = never
	}
	if len(addresses) == 0 {
		addresses = []string{zktest.Shared(t).Addr()}
	}
	c, err := zklock.NewClient(addresses, &opts)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// clients are n of them, as of n processes, on the server that the tests share, and a plain client of that.
func clients(t testing.TB, n int, opts zklock.Options) (all []*zklock.Client, plain *plain) {
	t.Helper()
	for range n {
		all = append(all, client(t, opts))
	}
	return all, connect(t, zktest.Shared(t).Addr())
}

// turn is a hold, or why there is none.
type turn struct {
	held   context.Context
	unlock func() error
	err    error
}

// waits starts a Lock, and returns once its node stands, the last of as many below the name.
func waits(t testing.TB, plain *plain, l *lock.Lock, nodes int) <-chan turn {
	t.Helper()
	got := make(chan turn, 1)
	ctx := within(t)
	go func() {
		held, unlock, err := l.Lock(ctx)
		got <- turn{held, unlock, err}
	}()
	plain.stand(t, pathOf(l.Name()), nodes)
	return got
}

// has receives the hold of a waiter.
func has(t testing.TB, from <-chan turn) turn {
	t.Helper()
	got := await(t, from, "the waiter has the lock")
	require.NoError(t, got.err)
	return got
}

// pathOf is the path of the node of a name that needs no encoding.
func pathOf(name string) string { return "/holdfast/locks/" + name }

// await receives what a goroutine sends.
func await[T any](t testing.TB, from <-chan T, what string) T {
	t.Helper()
	return servers.Receive(t, holding.Patience, from, what)
}

func eventually(t testing.TB, condition func() bool, what string) {
	t.Helper()
	zktest.Eventually(t, condition, what)
}
