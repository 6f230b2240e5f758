package multilock_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

// patience bounds what has to happen. Nothing is measured against it.
const patience = 20 * time.Second

func TestMain(m *testing.M) {
	role.Play()
	redistest.ServeExamples(1)
	redistest.Main(m)
}

// client opens a client that is closed with the test, whatever it holds by then.
func client(t testing.TB, rdb redis.UniversalClient, opts *rlock.ClientOptions) *rlock.Client {
	t.Helper()
	o := rlock.ClientOptions{}
	if opts != nil {
		o = *opts
	}
	o.Logger = slog.New(slog.DiscardHandler)
	c, err := rlock.NewClient(rdb, &o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func clientAt(t testing.TB, addr string, opts *rlock.ClientOptions) *rlock.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = rdb.Close() })
	return client(t, rdb, opts)
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// names are as many as are asked for, of this test only, in ascending order.
func names(t testing.TB, n int) []string {
	all, base := make([]string, n), redistest.Key(t)
	for i := range all {
		all[i] = base + ":" + string(rune('a'+i))
	}
	return all
}

func locks(c *rlock.Client, names ...string) []*rlock.Lock {
	all := make([]*rlock.Lock, len(names))
	for i, name := range names {
		all[i] = rlock.New(c, name)
	}
	return all
}

// free reports that nobody holds any of the names, and takes them to prove it.
func free(t testing.TB, c *rlock.Client, names ...string) {
	t.Helper()
	_, unlock, err := multilock.New(locks(c, names...)).Lock(within(t))
	require.NoError(t, err)
	require.NoError(t, unlock())
}

// waits reports that one call waits for a name through this client.
func waits(t testing.TB, l *rlock.Lock) {
	t.Helper()
	redistest.Eventually(t, patience, func() bool {
		info, err := l.Inspect(within(t))
		return err == nil && info.Waiters > 0
	}, "nobody waits for "+l.Name())
}
