package fairlock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// Bad arguments are refused before anything is sent, by an error that names them (G14).
func TestBadArguments(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p := l.peer(rlock.ClientOptions{})
	for want, lock := range map[string]*rlock.Lock{
		"client":     fairlock.New(new(rlock.Client), "x"),
		"name":       fairlock.New(p.client, ""),
		"FixedLease": fairlock.New(p.client, l.name, rlock.FixedLease(-time.Second)),
		"MaxWait":    fairlock.New(p.client, l.name, rlock.MaxWait(-time.Second)),
	} {
		_, unlock, err := lock.Lock(context.Background())
		var bad *rlock.ArgumentError
		require.True(t, errors.As(err, &bad), "%s: %v", want, err)
		require.Equal(t, want, bad.Name)
		require.ErrorIs(t, unlock(), rlock.ErrNotHeld)
		_, _, err = lock.TryLock(context.Background())
		require.True(t, errors.As(err, &bad))
		_, err = lock.Inspect(context.Background())
		require.True(t, errors.As(err, &bad))
	}
	_, _, err := fairlock.New(p.client, strings.Repeat("x", 1025)).Lock(context.Background())
	var bad *rlock.ArgumentError
	require.True(t, errors.As(err, &bad))
	require.Empty(t, l.left())
}

// Something else at the name is a conflict, and nothing changes.
func TestANameThatIsSomethingElse(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, make := range map[string]func(l *lab) error{
		"a string":          func(l *lab) error { return l.rdb.Set(ctx, l.name, "7", time.Hour).Err() },
		"a list":            func(l *lab) error { return l.rdb.RPush(ctx, l.name, "x").Err() },
		"a hash for ever":   func(l *lab) error { return l.rdb.HSet(ctx, l.name, "name", "x").Err() },
		"somebody's object": func(l *lab) error { return l.hashed("name", "x") },
		"a read-write lock": func(l *lab) error { return l.hashed("mode", "read", "a:1", "1") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			require.NoError(t, make(l))
			before := l.rdb.Dump(ctx, l.name).Val()
			p := l.peer(rlock.ClientOptions{})
			_, _, err := p.Lock.Lock(ctx)
			require.ErrorIs(t, err, rlock.ErrKeyConflict)
			_, _, err = p.TryLock(ctx)
			require.ErrorIs(t, err, rlock.ErrKeyConflict)
			_, err = p.Inspect(ctx)
			require.ErrorIs(t, err, rlock.ErrKeyConflict)
			require.Equal(t, before, l.rdb.Dump(ctx, l.name).Val())
			require.Equal(t, []string{l.name}, l.left())
		})
	}
}

func (l *lab) hashed(fields ...any) error {
	ctx := context.Background()
	return errors.Join(l.rdb.HSet(ctx, l.name, fields...).Err(), l.rdb.PExpire(ctx, l.name, time.Hour).Err())
}

// Names with and without braces are different locks with different queues.
func TestBracesMakeAnotherName(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, b := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	braced := func(p *peer) *peer {
		return &peer{lab: l, client: p.client, Lock: fairlock.New(p.client, "{"+l.name+"}")}
	}
	first, other := a.take(), braced(a).take()
	next := b.wait()
	otherNext := braced(b).start(context.Background())
	other.frees(t)
	h := l.arrives(otherNext)
	require.Empty(t, next)
	h.frees(t)
	l.inOrder(first, next)
	l.clean()
}

// On a cluster a name whose braces do not match is refused, for its keys would lie in different slots.
func TestNamesOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 2)
	client, err := rlock.NewClient(cluster.Client(t), &rlock.ClientOptions{Logger: quiet})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	for _, name := range []string{"a{b", "{}z"} {
		_, _, err := fairlock.New(client, name).Lock(context.Background())
		var bad *rlock.ArgumentError
		require.True(t, errors.As(err, &bad), "%q: %v", name, err)
		require.Equal(t, "name", bad.Name)
	}
	for _, name := range []string{"plain", "{tag}:x", "a{b}c"} {
		lock := fairlock.New(client, name)
		held, unlock, err := lock.Lock(context.Background())
		require.NoError(t, err, name)
		entered := make(chan error, 1)
		go func() {
			entered <- lock.Do(context.Background(), func(context.Context) error { return nil })
		}()
		redistest.Eventually(t, patience, func() bool {
			info, err := lock.Inspect(context.Background())
			return err == nil && info.Waiters == 1
		}, "nobody waits")
		require.NoError(t, held.Err())
		require.NoError(t, unlock())
		require.NoError(t, redistest.Receive(t, patience, entered, "the waiter does not get in"))
	}
}

// Plain and fair locks of one name exclude each other; inside one another they are refused, or wait.
func TestAPlainLockOfTheSameName(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, b := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	plain := rlock.New(a.client, l.name)
	ctx, unlock, err := plain.Lock(context.Background())
	require.NoError(t, err)
	b.busy()
	_, _, err = a.Lock.Lock(ctx)
	var bad *rlock.ArgumentError
	require.True(t, errors.As(err, &bad), "%v", err)
	require.Equal(t, "ctx", bad.Name)
	next := b.wait()
	redistest.Eventually(t, patience, func() bool {
		channel := "redisson_lock__channel:{" + l.name + "}"
		return l.rdb.PubSubNumSub(context.Background(), channel).Val()[channel] > 0
	}, "the fair waiter does not listen for the plain lock's release")
	require.NoError(t, unlock())
	h := l.arrives(next)
	_, _, err = plain.TryLock(context.Background())
	require.ErrorIs(t, err, rlock.ErrBusy)
	got := make(chan error, 1)
	go func() { got <- plain.Do(context.Background(), func(context.Context) error { return nil }) }()
	redistest.Eventually(t, patience, func() bool {
		channel := "redisson_lock__channel:{" + l.name + "}"
		return l.rdb.PubSubNumSub(context.Background(), channel).Val()[channel] > 0
	}, "the plain waiter does not listen")
	h.frees(t)
	require.NoError(t, <-got)
	l.clean()
}
