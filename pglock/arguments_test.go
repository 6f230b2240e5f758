package pglock_test

import (
	"context"
	"errors"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/pglock"
)

// nowhere is a pool whose server is not there, and counts those who look for it.
func nowhere(t *testing.T) (of *pgxpool.Pool, sent *meter) {
	t.Helper()
	sent = new(meter)
	return pool(t, "postgres://u:"+secret+"@127.0.0.1:1/db?sslmode=disable", func(c *pgxpool.Config) {
		c.MinConns = 0
		c.ConnConfig.DialFunc = func(ctx context.Context, network, addr string) (net.Conn, error) {
			sent.writes.Add(1)
			return sent.dial(ctx, network, addr)
		}
	}), sent
}

// badArgument asserts that an error is an *ArgumentError that names what is wrong.
func badArgument(t *testing.T, err error, name string) {
	t.Helper()
	var bad *lock.ArgumentError
	require.ErrorAs(t, err, &bad)
	require.Equal(t, name, bad.Name)
	require.NotEmpty(t, bad.Problem)
	require.Less(t, len(err.Error()), 400, "the message does not repeat a megabyte")
	require.NotContains(t, err.Error(), secret)
}

func TestBadOptions(t *testing.T) {
	t.Parallel()
	of, sent := nowhere(t)
	for _, c := range []struct {
		name string
		opts pglock.Options
	}{
		{"Lease", pglock.Options{Lease: -1}},
		{"Lease", pglock.Options{Lease: 100*time.Millisecond - 1}},
		{"Lease", pglock.Options{Lease: math.MaxInt64}},
		{"MaxPoll", pglock.Options{MaxPoll: -1}},
		{"MaxPoll", pglock.Options{MaxPoll: time.Microsecond}},
		{"MaxWait", pglock.Options{MaxWait: -time.Second}},
		{"MaxWait", pglock.Options{MaxWait: 1}},
		{"ReleaseTimeout", pglock.Options{ReleaseTimeout: -1}},
		{"ReleaseTimeout", pglock.Options{ReleaseTimeout: math.MaxInt64}},
		{"Table", pglock.Options{Table: "a.b.c"}},
		{"Table", pglock.Options{Table: "."}},
		{"Table", pglock.Options{Table: "a."}},
		{"Table", pglock.Options{Table: ".a"}},
		{"Table", pglock.Options{Table: "a\x00b"}},
		{"Table", pglock.Options{Table: "a\xffb"}},
		{"Table", pglock.Options{Table: strings.Repeat("a", 64)}},
		{"MaxConns", pglock.Options{MaxConns: -1}},
		{"MaxConns", pglock.Options{MaxConns: 1001}},
		{"MaxConns", pglock.Options{MaxConns: math.MaxInt}},
		{"MinReplicas", pglock.Options{MinReplicas: -1}},
		{"MinReplicas", pglock.Options{MinReplicas: 1001}},
	} {
		got, err := pglock.NewClient(of, &c.opts)
		require.Nil(t, got)
		badArgument(t, err, "Options."+c.name)
	}
	got, err := pglock.NewClient(nil, nil)
	require.Nil(t, got)
	badArgument(t, err, "pool")
	_, err = pglock.Migrations("a.b.c")
	badArgument(t, err, "Options.Table")
	badArgument(t, pglock.Migrate(within(t), of, "a.b.c"), "Options.Table")
	badArgument(t, pglock.Migrate(within(t), nil, ""), "db")
	badArgument(t, pglock.Migrate(noContext, of, ""), "ctx")
	for _, opts := range []*pglock.Options{
		nil, {}, {Lease: 100 * time.Millisecond}, {MaxPoll: time.Millisecond, MaxWait: time.Millisecond},
		{Table: strings.Repeat("a", 63)}, {Table: `Odd "name".with space`}, {MaxConns: 1000},
	} {
		got, err := pglock.NewClient(of, opts)
		require.NoError(t, err)
		require.NoError(t, got.Close())
	}
	require.Zero(t, sent.writes.Load())
}

// calls are all calls on a handle that are refused with it.
func calls(l *lock.Lock) map[string]func(ctx context.Context) error {
	return map[string]func(ctx context.Context) error{
		"Lock": func(ctx context.Context) error {
			same, unlock, err := l.Lock(ctx)
			return errors.Join(err, leftOver(ctx, same, unlock))
		},
		"TryLock": func(ctx context.Context) error {
			same, unlock, err := l.TryLock(ctx)
			return errors.Join(err, leftOver(ctx, same, unlock))
		},
		"Import": func(ctx context.Context) error {
			same, unlock, err := l.Import(ctx, "token")
			return errors.Join(err, leftOver(ctx, same, unlock))
		},
		"Do": func(ctx context.Context) error {
			return l.Do(ctx, func(context.Context) error { return errors.New("called without the lock") })
		},
		"Held":     func(ctx context.Context) error { _, err := l.Held(ctx); return err },
		"Inspect":  func(ctx context.Context) error { _, err := l.Inspect(ctx); return err },
		"Break":    l.Break,
		"BreakOne": func(ctx context.Context) error { return l.BreakOne(ctx, "a:b") },
		"Export":   func(ctx context.Context) error { _, err := l.Export(ctx); return err },
	}
}

// leftOver is an error if what comes with an error is of any use.
func leftOver(given, got context.Context, unlock func() error) error {
	if given != got || unlock == nil || !errors.Is(unlock(), lock.ErrNotHeld) {
		return errors.New("an error comes with the given context and an unlock that does nothing")
	}
	return nil
}

func nothing(context.Context) error { return nil }

func TestBadNames(t *testing.T) {
	t.Parallel()
	of, sent := nowhere(t)
	c := client(t, of, pglock.Options{})
	for _, name := range []string{"", "a\x00b", "\xff", "a\xc3", strings.Repeat("a", 1025), strings.Repeat("ä", 513)} {
		for what, call := range calls(c.Lock(name)) {
			err := call(within(t))
			require.Error(t, err, what)
			badArgument(t, err, "name")
		}
		badArgument(t, multilock.New([]*lock.Lock{c.Lock("ok"), c.Lock(name)}).Do(within(t), nothing), "name")
	}
	require.Zero(t, sent.writes.Load())
}

func TestBadOptionsOfAHandle(t *testing.T) {
	t.Parallel()
	of, sent := nowhere(t)
	c := client(t, of, pglock.Options{Lease: 9 * time.Second})
	for _, test := range []struct {
		name string
		opts []lock.Option
	}{
		{"Lease", []lock.Option{lock.Lease(-1)}},
		{"Lease", []lock.Option{lock.Lease(2 * time.Second)}},
		{"Lease", []lock.Option{lock.Lease(time.Minute), lock.FixedLease(time.Minute)}},
		{"FixedLease", []lock.Option{lock.FixedLease(1)}},
		{"MaxWait", []lock.Option{lock.MaxWait(-1)}},
		{"MaxHold", []lock.Option{lock.MaxHold(-1)}},
		{"MinHold", []lock.Option{lock.MinHold(-1)}},
		{"MinHold", []lock.Option{lock.FixedLease(time.Second), lock.MinHold(time.Minute)}},
		{"Grace", []lock.Option{lock.Grace(time.Hour)}},
		{"Keep", []lock.Option{lock.Keep(time.Second)}},
		{"Yields", []lock.Option{lock.Yields()}},
	} {
		for what, call := range calls(c.Lock("a", test.opts...)) {
			err := call(within(t))
			require.Error(t, err, what)
			badArgument(t, err, test.name)
			require.NotContains(t, err.Error(), "ClientOptions", "the struct has another name here")
		}
	}
	require.Zero(t, sent.writes.Load())
}

func TestBadCalls(t *testing.T) {
	t.Parallel()
	of, sent := nowhere(t)
	c := client(t, of, pglock.Options{})
	for what, call := range calls(c.Lock("a")) {
		if what != "Import" { // which says first that its token is none
			badArgument(t, call(nil), "ctx")
		}
	}
	badArgument(t, c.Lock("a").BreakOne(within(t), "nobody"), "id")
	listed := func(ctx context.Context, of *pglock.Client, pattern string) error {
		for _, err := range pglock.List(ctx, of, pattern) {
			return err
		}
		return nil
	}
	badArgument(t, listed(within(t), c, ""), "pattern")
	badArgument(t, listed(within(t), c, `a\`), "pattern")
	badArgument(t, listed(within(t), c, "a\x00"), "pattern")
	badArgument(t, listed(within(t), c, "\xff"), "pattern")
	badArgument(t, listed(noContext, c, "%"), "ctx")
	for _, none := range []*pglock.Client{nil, {}} {
		for _, call := range calls(none.Lock("a")) {
			badArgument(t, call(within(t)), "client")
		}
		badArgument(t, listed(within(t), none, "%"), "client")
		badArgument(t, none.Close(), "client")
		require.Zero(t, none.Stats())
		require.Len(t, pglock.Check(within(t), none), 1)
		require.Equal(t, lock.LevelFailure, pglock.Check(within(t), none)[0].Level)
	}
	require.Equal(t, lock.LevelFailure, pglock.Check(noContext, c)[0].Level)
	require.Zero(t, sent.writes.Load())
}

// After Close nothing is sent, and each call says why.
func TestAClosedClient(t *testing.T) {
	t.Parallel()
	of, sent := nowhere(t)
	c := client(t, of, pglock.Options{})
	require.NoError(t, c.Close())
	require.NoError(t, c.Close())
	for what, call := range calls(c.Lock("a")) {
		err := call(within(t))
		if what != "Held" && what != "Import" && what != "Export" {
			require.ErrorIs(t, err, lock.ErrClosed, what)
		}
		require.Error(t, err, what)
	}
	for _, err := range pglock.List(within(t), c, "%") {
		require.ErrorIs(t, err, lock.ErrClosed)
	}
	for _, finding := range pglock.Check(within(t), c) {
		require.Equal(t, lock.LevelFailure, finding.Level)
		require.Contains(t, finding.Text, "closed")
	}
	require.Zero(t, sent.writes.Load())
}
