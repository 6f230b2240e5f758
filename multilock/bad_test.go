package multilock_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// Bad input is an error that names the argument, before anything is sent.
func TestBadArguments(t *testing.T) {
	t.Parallel()
	c := clientAt(t, "127.0.0.1:1", nil) // nobody is there to be sent anything
	a, b := rlock.New(c, "a"), rlock.New(c, "b")
	ctx := context.Background()
	for name, test := range map[string]struct {
		lock     *multilock.Lock
		argument string
	}{
		"no locks":              {multilock.New(nil), "locks"},
		"a lock twice":          {multilock.New([]*rlock.Lock{a, b, rlock.New(c, "a")}), "locks[2]"},
		"nil":                   {multilock.New([]*rlock.Lock{a, nil}), "lock"},
		"a lock from nowhere":   {multilock.New([]*rlock.Lock{a, {}}), "lock"},
		"a lock without a name": {multilock.New([]*rlock.Lock{a, rlock.New(c, "")}), "name"},
		"a bad option":          {multilock.New([]*rlock.Lock{a, b}, rlock.MaxWait(-1)), "MaxWait"},
		"from nowhere":          {&multilock.Lock{}, "lock"},
	} {
		t.Run(name, func(t *testing.T) {
			_, unlock, err := test.lock.Lock(ctx)
			var bad *rlock.ArgumentError
			require.ErrorAs(t, err, &bad)
			require.Equal(t, test.argument, bad.Name)
			require.ErrorIs(t, unlock(), rlock.ErrNotHeld)
			_, _, err = test.lock.TryLock(ctx)
			require.ErrorAs(t, err, &bad)
			require.ErrorAs(t, test.lock.Do(ctx, func(context.Context) error { return nil }), &bad)
			_, err = test.lock.Held(ctx)
			require.ErrorAs(t, err, &bad)
		})
	}
	var bad *rlock.ArgumentError
	var none context.Context
	_, _, err := multilock.New([]*rlock.Lock{a, b}).Lock(none)
	require.ErrorAs(t, err, &bad)
	require.Equal(t, "ctx", bad.Name)
	require.ErrorAs(t, multilock.New([]*rlock.Lock{a, b}).Do(ctx, nil), &bad)
	require.Equal(t, "fn", bad.Name)
}

// defect D15: the text says which lock it is that is there twice.
func TestTextOfADuplicate(t *testing.T) {
	t.Parallel()
	c := clientAt(t, "127.0.0.1:1", nil)
	twice := []string{"account:1", "account:3", "account:3"}
	_, _, err := multilock.New(locks(c, twice...)).Lock(within(t))
	require.EqualError(t, err, `holdfast: locks[2] is a duplicate of locks[1], "account:3"`)
	sides := rwlock.New(c, "report")
	_, _, err = multilock.New([]*rlock.Lock{sides.Read(), sides.Write()}).Lock(within(t))
	require.EqualError(t, err, `holdfast: locks[1] is a duplicate of locks[0], "report"`)
}

// A closed client is told before anything is taken through another one.
func TestMembersOfAClosedClient(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	open, closed := clientAt(t, server.Addr(), nil), clientAt(t, server.Addr(), nil)
	require.NoError(t, closed.Close())
	m := multilock.New([]*rlock.Lock{rlock.New(open, "a"), rlock.New(closed, "b")})
	_, _, err := m.Lock(within(t))
	require.ErrorIs(t, err, rlock.ErrClosed)
	require.Zero(t, server.Calls(t, "evalsha")+server.Calls(t, "eval"))
}

// Something else at one of the keys is left alone, and so are all the others.
func TestSomethingElseAtAKey(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	c := clientAt(t, server.Addr(), nil)
	n := names(t, 3)
	rdb := server.Client(t)
	for _, put := range []func() error{
		func() error { return rdb.Set(within(t), n[1], "theirs", 0).Err() },
		func() error { return rdb.HSet(within(t), n[1], "field", "theirs").Err() },
		func() error {
			return rdb.Set(within(t), "redisson_lock_token:{"+n[1]+"}", "theirs", 0).Err()
		},
	} {
		require.NoError(t, put())
		_, _, err := multilock.New(locks(c, n...)).Lock(within(t))
		require.ErrorIs(t, err, rlock.ErrKeyConflict)
		left, err := rdb.Exists(within(t), n[0], n[2]).Result()
		require.NoError(t, err)
		require.Zero(t, left, "nothing was taken")
		require.NoError(t, rdb.Del(within(t), n[1], "redisson_lock_token:{"+n[1]+"}").Err())
	}
}
