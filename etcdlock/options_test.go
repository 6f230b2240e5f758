package etcdlock_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/lock"
)

// badArgument asserts that an error is an *ArgumentError that names what is wrong.
func badArgument(t *testing.T, err error, name string) {
	t.Helper()
	var bad *lock.ArgumentError
	require.ErrorAs(t, err, &bad)
	require.Equal(t, name, bad.Name)
	require.NotEmpty(t, bad.Problem)
}

// nowhere is a client of etcd whose server is not there, on a wire that counts what is sent.
func nowhere(t *testing.T) (*clientv3.Client, *wire) {
	t.Helper()
	sent := &wire{}
	return connect(t, "http://127.0.0.1:1", sent.options()...), sent
}

func TestBadOptions(t *testing.T) {
	t.Parallel()
	cli, sent := nowhere(t)
	for _, c := range []struct {
		name string
		opts etcdlock.Options
	}{
		{"Lease", etcdlock.Options{Lease: -1}},
		{"Lease", etcdlock.Options{Lease: 4 * time.Second}},
		{"Lease", etcdlock.Options{Lease: 5500 * time.Millisecond}},
		{"Lease", etcdlock.Options{Lease: math.MaxInt64}},
		{"MaxPoll", etcdlock.Options{MaxPoll: -1}},
		{"MaxPoll", etcdlock.Options{MaxPoll: time.Microsecond}},
		{"MaxWait", etcdlock.Options{MaxWait: -time.Second}},
		{"ReleaseTimeout", etcdlock.Options{ReleaseTimeout: -1}},
		{"ReleaseTimeout", etcdlock.Options{ReleaseTimeout: math.MaxInt64}},
	} {
		got, err := etcdlock.NewClient(cli, &c.opts)
		require.Nil(t, got)
		badArgument(t, err, "Options."+c.name)
	}
	got, err := etcdlock.NewClient(nil, nil)
	require.Nil(t, got)
	badArgument(t, err, "etcd")
	for _, opts := range []*etcdlock.Options{nil, {}, {Lease: brief}, {Lease: time.Hour, MaxPoll: time.Millisecond}} {
		got, err := etcdlock.NewClient(cli, opts)
		require.NoError(t, err)
		require.NoError(t, got.Close())
	}
	require.Zero(t, sent.Total())
}

// What this store lacks is refused before anything is sent.
func TestBadOptionsOfALock(t *testing.T) {
	t.Parallel()
	cli, sent := nowhere(t)
	c := client(t, cli, etcdlock.Options{Lease: 15 * time.Second})
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
	for _, d := range []time.Duration{4 * time.Second, 5500 * time.Millisecond} {
		for _, call := range locking {
			badArgument(t, call(t, c.Lock("a", lock.FixedLease(d))), "FixedLease")
			badArgument(t, call(t, c.Lock("a", lock.Lease(max(d, 5500*time.Millisecond)))), "Lease")
		}
	}
	require.Zero(t, sent.Total())
}

// A client that is none, or is closed, says so.
func TestNoClient(t *testing.T) {
	t.Parallel()
	for _, none := range []*etcdlock.Client{nil, {}} {
		for _, call := range calls {
			badArgument(t, call(within(t), none), "client")
		}
		badArgument(t, none.Close(), "client")
		require.Zero(t, none.Stats())
		require.Equal(t, lock.LevelFailure, levels(etcdlock.Check(within(t), none))["client"])
	}
	cli, sent := nowhere(t)
	c := client(t, cli, etcdlock.Options{})
	require.NoError(t, c.Close())
	for name, call := range calls {
		require.ErrorIs(t, call(within(t), c), lock.ErrClosed, name)
	}
	require.NoError(t, c.Close())
	require.Zero(t, sent.Total())
}
