package zklock_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/zklock"
)

// badArgument asserts that an error is an *ArgumentError that names what is wrong.
func badArgument(t *testing.T, err error, name string) {
	t.Helper()
	var bad *lock.ArgumentError
	require.ErrorAs(t, err, &bad)
	require.Equal(t, name, bad.Name)
	require.NotEmpty(t, bad.Problem)
}

// nowhere is a server that is not there.
const nowhere = "127.0.0.1:1"

func TestBadOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		opts zklock.Options
	}{
		{"Lease", zklock.Options{Lease: -1}},
		{"Lease", zklock.Options{Lease: 3999 * time.Millisecond}},
		{"Lease", zklock.Options{Lease: math.MaxInt64}},
		{"MaxPoll", zklock.Options{MaxPoll: -1}},
		{"MaxPoll", zklock.Options{MaxPoll: time.Microsecond}},
		{"MaxWait", zklock.Options{MaxWait: -time.Second}},
		{"ReleaseTimeout", zklock.Options{ReleaseTimeout: -1}},
		{"ReleaseTimeout", zklock.Options{ReleaseTimeout: math.MaxInt64}},
		{"Root", zklock.Options{Root: "locks"}},
		{"Root", zklock.Options{Root: "/locks/"}},
		{"Root", zklock.Options{Root: "/a//b"}},
		{"Root", zklock.Options{Root: "/a/../b"}},
		{"Root", zklock.Options{Root: "/a/\U0001F512"}},
		{"Root", zklock.Options{Root: "/a\xff"}},
		{"Root", zklock.Options{Root: "/zookeeper"}},
		{"Root", zklock.Options{Root: "/" + strings.Repeat("a", 1024)}},
		{"Own", zklock.Options{Own: "own"}},
		{"Own", zklock.Options{Own: "/zookeeper/own"}},
		{"Auth", zklock.Options{Auth: []zklock.Auth{{Secret: "user:password"}}}},
		{"ACL", zklock.Options{ACL: []zklock.ACL{}}},
		{"ACL", zklock.Options{ACL: []zklock.ACL{{Perms: 32, Scheme: "world", ID: "anyone"}}}},
		{"ACL", zklock.Options{ACL: []zklock.ACL{{Scheme: "world", ID: "anyone"}}}},
		{"ACL", zklock.Options{ACL: []zklock.ACL{{Perms: zklock.PermAll, ID: "anyone"}}}},
	} {
		got, err := zklock.NewClient([]string{nowhere}, &c.opts)
		require.Nil(t, got)
		badArgument(t, err, "Options."+c.name)
	}
	for _, servers := range [][]string{nil, {}, {"zk1"}, {"zk1:2181,zk2:2181"}, {":2181"}, {"zk1:"}} {
		got, err := zklock.NewClient(servers, nil)
		require.Nil(t, got)
		badArgument(t, err, "servers")
	}
	for _, opts := range []*zklock.Options{
		nil, {}, {Lease: brief}, {Lease: time.Hour, MaxPoll: time.Millisecond}, {Root: "/", Own: "/"},
		{ACL: []zklock.ACL{{zklock.PermRead | zklock.PermAdmin, "world", "anyone"}}},
	} {
		got, err := zklock.NewClient([]string{nowhere, "[::1]:2181"}, opts)
		require.NoError(t, err)
		require.NoError(t, got.Close())
	}
}

// What this store lacks is refused before anything is sent.
func TestBadOptionsOfALock(t *testing.T) {
	t.Parallel()
	sent := &wire{}
	c := client(t, zklock.Options{Lease: 15 * time.Second, Dial: sent.Dial}, nowhere)
	for name, opts := range map[string][]lock.Option{
		"Lease":      {lock.Lease(16 * time.Second)},
		"FixedLease": {lock.FixedLease(16 * time.Second)},
		"MinHold":    {lock.MinHold(time.Second)},
		"Keep":       {lock.Keep(time.Second)},
		"Yields":     {lock.Yields()},
	} {
		for _, call := range locking {
			badArgument(t, call(t, c.Lock("a", opts...)), name)
		}
	}
	for _, call := range locking {
		badArgument(t, call(t, c.Lock("a", lock.FixedLease(3*time.Second))), "FixedLease")
		badArgument(t, call(t, c.Lock("")), "name")
		badArgument(t, call(t, c.Lock(strings.Repeat("a", 1025))), "name")
	}
	require.Zero(t, sent.Total())
}

// calls are those of a client and of its locks.
var calls = map[string]func(ctx context.Context, c *zklock.Client) error{
	"Lock":    func(ctx context.Context, c *zklock.Client) error { _, _, err := c.Lock("a").Lock(ctx); return err },
	"TryLock": func(ctx context.Context, c *zklock.Client) error { _, _, err := c.Lock("a").TryLock(ctx); return err },
	"Inspect": func(ctx context.Context, c *zklock.Client) error { _, err := c.Lock("a").Inspect(ctx); return err },
	"Break":   func(ctx context.Context, c *zklock.Client) error { return c.Lock("a").Break(ctx) },
	"Rebase":  zklock.Rebase,
	"List": func(ctx context.Context, c *zklock.Client) error {
		for _, err := range zklock.List(ctx, c, "") {
			if err != nil {
				return err
			}
		}
		return nil
	},
}

// levels are the worst of what was found, by name.
func levels(all []lock.Finding) map[string]lock.Level {
	found := make(map[string]lock.Level)
	for _, f := range all {
		found[f.Name] = max(found[f.Name], f.Level)
	}
	return found
}

// A client that is none, or is closed, says so.
func TestNoClient(t *testing.T) {
	t.Parallel()
	for _, none := range []*zklock.Client{nil, {}} {
		for _, call := range calls {
			badArgument(t, call(within(t), none), "client")
		}
		badArgument(t, none.Close(), "client")
		require.Zero(t, none.Stats())
		require.Equal(t, lock.LevelFailure, levels(zklock.Check(within(t), none))["client"])
	}
	sent := &wire{}
	c := client(t, zklock.Options{Dial: sent.Dial}, nowhere)
	require.NoError(t, c.Close())
	for name, call := range calls {
		require.ErrorIs(t, call(within(t), c), lock.ErrClosed, name)
	}
	require.NoError(t, c.Close())
	require.Zero(t, sent.Total())
}
