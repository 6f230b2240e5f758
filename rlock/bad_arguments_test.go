package rlock_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/conformance/onredis"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// badArgument asserts that err is an *ArgumentError that names what is wrong.
func badArgument(t *testing.T, err error, names string) {
	t.Helper()
	var bad *rlock.ArgumentError
	require.True(t, errors.As(err, &bad), "%v", err)
	require.Equal(t, names, bad.Name)
	require.NotEmpty(t, bad.Problem)
	require.Contains(t, err.Error(), names)
	require.Less(t, len(err.Error()), 400, "the message does not repeat a megabyte")
}

// badCalls are all calls on a handle that can refuse it.
func badCalls(l *rlock.Lock) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"Lock": func(ctx context.Context) error {
			same, unlock, err := l.Lock(ctx)
			return errors.Join(err, badRest(ctx, same, unlock))
		},
		"TryLock": func(ctx context.Context) error {
			same, unlock, err := l.TryLock(ctx)
			return errors.Join(err, badRest(ctx, same, unlock))
		},
		"Import": func(ctx context.Context) error {
			same, unlock, err := l.Import(ctx, "token")
			return errors.Join(err, badRest(ctx, same, unlock))
		},
		"Do": func(ctx context.Context) error {
			return l.Do(ctx, func(context.Context) error { return errors.New("called without the lock") })
		},
		"Held":    func(ctx context.Context) error { _, err := l.Held(ctx); return err },
		"Inspect": func(ctx context.Context) error { _, err := l.Inspect(ctx); return err },
		"Break":   l.Break,
		"Export":  func(ctx context.Context) error { _, err := l.Export(ctx); return err },
	}
}

// badRest reports what comes with an error and should not.
func badRest(given, got context.Context, unlock func() error) error {
	if given != got || unlock == nil || !errors.Is(unlock(), rlock.ErrNotHeld) {
		return errors.New("an error comes with the given context and an unlock that does nothing")
	}
	return nil
}

// G14: a client that no lock is safe on is refused at once (interleaving 2: a Ring has two holders
// while every Redis keeps its keys).
func TestBadRedisClients(t *testing.T) {
	t.Parallel()
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	t.Cleanup(func() { _ = ring.Close() })
	for name, rdb := range map[string]redis.UniversalClient{
		"nil":                 nil,
		"typed nil client":    (*redis.Client)(nil),
		"typed nil cluster":   (*redis.ClusterClient)(nil),
		"typed nil ring":      (*redis.Ring)(nil),
		"ring":                ring,
		"a type of one's own": struct{ redis.UniversalClient }{ring},
	} {
		t.Run(name, func(t *testing.T) {
			client, err := rlock.NewClient(rdb, nil)
			require.Nil(t, client)
			badArgument(t, err, "rdb")
		})
	}
}

// The texts go on from the argument's name (defect F21).
func TestTextsOfBadRedisClients(t *testing.T) {
	t.Parallel()
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	t.Cleanup(func() { _ = ring.Close() })
	for text, rdb := range map[string]redis.UniversalClient{
		"holdfast: rdb must not be a *redis.Ring, which moves a name to another shard by each client's own heartbeat, " +
			"so that two clients hold it": ring,
		"holdfast: rdb must be a *redis.Client (single node or Sentinel) or a *redis.ClusterClient, not a *rlock_test.odd": &odd{ring},
		"holdfast: rdb must not be nil": nil,
	} {
		_, err := rlock.NewClient(rdb, nil)
		require.EqualError(t, err, text)
	}
}

type odd struct{ redis.UniversalClient }

// The derived clients do not hang on the pool of the application's client.
func TestAClientThatTheApplicationCloses(t *testing.T) {
	t.Parallel()
	rdb := redis.NewClient(redistest.Shared(t).Options())
	require.NoError(t, rdb.Close())
	client, err := rlock.NewClient(rdb, conductQuiet(nil))
	require.NoError(t, err)
	_, unlock, err := rlock.New(client, redistest.Key(t)).Lock(conductCtx(t))
	if err == nil {
		err = unlock()
	}
	if err != nil {
		require.ErrorIs(t, err, rlock.ErrUnavailable)
		require.ErrorIs(t, err, redis.ErrClosed)
	}
	require.NoError(t, client.Close())
}

// G14: bad options are errors of NewClient that name the field. Zero is the default.
func TestBadClientOptions(t *testing.T) {
	t.Parallel()
	rdb := redistest.Shared(t).Client(t)
	for _, test := range []struct {
		field string
		opts  rlock.ClientOptions
	}{
		{"Lease", rlock.ClientOptions{Lease: -1}},
		{"Lease", rlock.ClientOptions{Lease: time.Nanosecond}},
		{"Lease", rlock.ClientOptions{Lease: 100*time.Millisecond - 1}},
		{"Lease", rlock.ClientOptions{Lease: math.MaxInt64}},
		{"Lease", rlock.ClientOptions{Lease: math.MinInt64}},
		{"MaxPoll", rlock.ClientOptions{MaxPoll: -1}},
		{"MaxPoll", rlock.ClientOptions{MaxPoll: time.Microsecond}},
		{"MaxPoll", rlock.ClientOptions{MaxPoll: math.MaxInt64}},
		{"ReleaseTimeout", rlock.ClientOptions{ReleaseTimeout: -time.Second}},
		{"ReleaseTimeout", rlock.ClientOptions{ReleaseTimeout: 1}},
		{"ReleaseTimeout", rlock.ClientOptions{ReleaseTimeout: math.MaxInt64}},
		{"MinReplicas", rlock.ClientOptions{MinReplicas: -1}},
		{"FenceTTL", rlock.ClientOptions{FenceTTL: 1}},
		{"FenceTTL", rlock.ClientOptions{FenceTTL: math.MaxInt64}},
	} {
		client, err := rlock.NewClient(rdb, &test.opts)
		require.Nil(t, client)
		badArgument(t, err, "ClientOptions."+test.field)
	}
	for _, opts := range []*rlock.ClientOptions{
		nil, {}, {FenceTTL: -1}, {FenceTTL: math.MinInt64}, {Observer: &rlock.Observer{}},
		{Lease: 100 * time.Millisecond}, {MaxPoll: time.Millisecond, ReleaseTimeout: time.Millisecond},
	} {
		client, err := rlock.NewClient(rdb, opts)
		require.NoError(t, err)
		require.NoError(t, client.Close())
	}
}

// G14: every call on a bad handle says what is wrong with it, and sends nothing before.
func TestBadHandles(t *testing.T) {
	t.Parallel()
	var sent redistest.Meter
	client := onredis.Client(t, redistest.Shared(t).Addr(), &sent, rlock.ClientOptions{})
	prefixed := onredis.Client(t, redistest.Shared(t).Addr(), &sent, rlock.ClientOptions{Prefix: "app:"})
	for name, test := range map[string]struct {
		lock  *rlock.Lock
		names string
	}{
		"nil client":           {rlock.New(nil, "n"), "client"},
		"zero client":          {rlock.New(new(rlock.Client), "n"), "client"},
		"zero lock":            {new(rlock.Lock), "lock"},
		"empty name":           {rlock.New(client, ""), "name"},
		"1,025 bytes":          {rlock.New(client, strings.Repeat("x", 1025)), "name"},
		"a megabyte":           {rlock.New(client, strings.Repeat("x", 1<<20)), "name"},
		"only a prefix":        {rlock.New(prefixed, ""), "name"},
		"too long a key":       {rlock.New(prefixed, strings.Repeat("x", 1021)), "name"},
		"FixedLease 0":         {rlock.New(client, "n", rlock.FixedLease(0)), "FixedLease"},
		"FixedLease negative":  {rlock.New(client, "n", rlock.FixedLease(-time.Second)), "FixedLease"},
		"FixedLease of 1.5 ms": {rlock.New(client, "n", rlock.FixedLease(1500*time.Microsecond)), "FixedLease"},
		"FixedLease for ever":  {rlock.New(client, "n", rlock.FixedLease(math.MaxInt64)), "FixedLease"},
		"MaxWait 0":            {rlock.New(client, "n", rlock.MaxWait(0)), "MaxWait"},
		"MaxWait negative":     {rlock.New(client, "n", rlock.MaxWait(-1)), "MaxWait"},
		"MaxWait for ever":     {rlock.New(client, "n", rlock.MaxWait(math.MaxInt64)), "MaxWait"},
		"MaxHold 0":            {rlock.New(client, "n", rlock.MaxHold(0)), "MaxHold"},
		"MaxHold negative":     {rlock.New(client, "n", rlock.MaxHold(math.MinInt64)), "MaxHold"},
		"MaxHold for ever":     {rlock.New(client, "n", rlock.MaxHold(math.MaxInt64)), "MaxHold"},
		"Grace 0":              {rlock.New(client, "n", rlock.Grace(0)), "Grace"},
		"Grace negative":       {rlock.New(client, "n", rlock.Grace(-time.Second)), "Grace"},
		"Grace for ever":       {rlock.New(client, "n", rlock.Grace(math.MaxInt64)), "Grace"},
		"Grace of the lease":   {rlock.New(client, "n", rlock.Grace(15*time.Second+time.Millisecond)), "Grace"},
		"Grace of a Lease":     {rlock.New(client, "n", rlock.Lease(20*time.Second), rlock.Grace(11*time.Second)), "Grace"},
		"Grace of FixedLease":  {rlock.New(client, "n", rlock.Grace(time.Second), rlock.FixedLease(time.Second)), "Grace"},
		"the first of two":     {rlock.New(client, "n", rlock.MaxHold(0), rlock.MaxWait(0)), "MaxHold"},
		"name before option":   {rlock.New(client, "", rlock.MaxWait(0)), "name"},
	} {
		t.Run(name, func(t *testing.T) {
			for call, do := range badCalls(test.lock) {
				err := do(conductCtx(t))
				badArgument(t, err, test.names)
				require.NotContains(t, err.Error(), "an error comes with", call)
			}
			_ = test.lock.Name()
		})
	}
	require.Zero(t, sent.Sent(), "nothing is sent for a bad argument")
	require.NoError(t, client.Close())
}

// G14: nil where a value has to be.
func TestBadCallArguments(t *testing.T) {
	t.Parallel()
	var sent redistest.Meter
	client := onredis.Client(t, redistest.Shared(t).Addr(), &sent, rlock.ClientOptions{})
	lock := rlock.New(client, redistest.Key(t), nil)
	for name, call := range badCalls(lock) {
		t.Run(name, func(t *testing.T) {
			badArgument(t, call(nil), "ctx") //nolint:staticcheck // that nil is refused is what is tested
		})
	}
	badArgument(t, lock.Do(conductCtx(t), nil), "fn")
	for _, token := range []string{"", "x", "e30", "!", strings.Repeat("A", 1<<20), "eyJrIjoiayJ9"} {
		ctx := conductCtx(t)
		same, unlock, err := lock.Import(ctx, token)
		badArgument(t, err, "token")
		require.NoError(t, badRest(ctx, same, unlock))
	}
	require.Zero(t, sent.Sent())

	held, unlock := conductTake(t, conductCtx(t), lock)
	other := rlock.New(client, redistest.Key(t))
	token, err := lock.Export(held)
	require.NoError(t, err)
	_, _, err = other.Import(conductCtx(t), token)
	badArgument(t, err, "token")
	_, again, err := lock.Import(conductCtx(t), token)
	require.NoError(t, err)
	require.ErrorIs(t, unlock(), rlock.ErrNotHeld)
	require.NoError(t, again())
}

// G14: only the last level can be exported.
func TestBadExport(t *testing.T) {
	t.Parallel()
	client := conductClient(t, redistest.Shared(t).Addr(), nil)
	lock := rlock.New(client, redistest.Key(t))
	held, unlock := conductTake(t, conductCtx(t), lock)
	nested, inner := conductTake(t, held, lock)
	_, err := lock.Export(nested)
	badArgument(t, err, "ctx")
	require.NoError(t, nested.Err())
	require.NoError(t, inner())
	require.NoError(t, held.Err())
	require.NoError(t, unlock())
}
