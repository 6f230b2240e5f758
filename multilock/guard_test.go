package multilock_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// quorum is three servers and a client of package redlock over them, whose guard time is as long as its lease.
func quorum(t *testing.T, lease time.Duration) ([]*redistest.Server, *redlock.Client) {
	t.Helper()
	var servers []*redistest.Server
	var nodes []redis.UniversalClient
	for range 3 {
		s := redistest.Start(t)
		rdb := redis.NewClient(&redis.Options{Addr: s.Addr()})
		t.Cleanup(func() { _ = rdb.Close() })
		servers, nodes = append(servers, s), append(nodes, rdb)
	}
	client, err := redlock.NewClient(nodes, &redlock.Options{
		ClientOptions:  rlock.ClientOptions{Lease: lease, Logger: slog.New(slog.DiscardHandler)},
		NodeTimeout:    lease / 6,
		NoRestartGuard: true, // the servers are new; a longer lease is refused all the same
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return servers, client
}

// defect A1: a lease that outlives the restart guard gives two holders when servers restart, so package
// redlock refuses it. An option of New reached the member past that check. It is refused as well, and
// nothing is sent: neither to the nodes nor for a member that comes before.
func TestALeaseThatAMemberRefuses(t *testing.T) {
	t.Parallel()
	const guard = 18 * time.Second
	nodes, client := quorum(t, guard)
	single := redistest.Start(t)
	ctx, c, n := within(t), clientAt(t, single.Addr(), nil), names(t, 2)
	members := []*rlock.Lock{rlock.New(c, n[0]), redlock.New(client, n[1])}
	m := multilock.New(members, rlock.FixedLease(time.Minute))
	for call, do := range map[string]func() error{
		"Lock":    func() error { _, _, err := m.Lock(ctx); return err },
		"TryLock": func() error { _, _, err := m.TryLock(ctx); return err },
		"Do":      func() error { return m.Do(ctx, func(context.Context) error { return nil }) },
	} {
		err := do()
		var bad *rlock.ArgumentError
		require.ErrorAs(t, err, &bad, call)
		require.Equal(t, "FixedLease", bad.Name)
		require.Equal(t, time.Minute, bad.Value)
		require.ErrorContains(t, err, "RestartGuard")
		require.ErrorContains(t, err, guard.String())
	}
	for _, s := range append(nodes, single) {
		require.Zero(t, s.Calls(t, "evalsha")+s.Calls(t, "eval"))
		require.Empty(t, s.Keys(t))
	}
	// As long as the guard is not too long.
	err := multilock.New(members, rlock.FixedLease(guard)).Do(ctx, func(context.Context) error { return nil })
	require.NoError(t, err)
}
