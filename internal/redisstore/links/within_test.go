package links_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/links"
)

// defect F11: what must end within a time is left then, while it waits for a connection. Many share one timer, and so do
// those that are derived from one.
func TestABoundEndsByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		given := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
		defer func() { _ = given.Close() }()
		l, err := links.From(given, links.Limits{Command: time.Second})
		require.NoError(t, err)
		defer func() { require.NoError(t, l.Close()) }()
		type key struct{}
		carried := context.WithValue(context.Background(), key{}, "carried")
		for range 3 {
			began := time.Now()
			first := l.WithinAll(carried, time.Second, 5*time.Second)
			inner := links.Within(first, time.Minute)
			time.Sleep(time.Millisecond)
			second := l.WithinAll(carried, time.Second, 5*time.Second)
			derived, stop := context.WithCancel(inner)
			defer stop()
			require.Equal(t, "carried", derived.Value(key{}))
			require.Equal(t, first.Done(), second.Done())
			for _, ctx := range []context.Context{first, second, inner} {
				require.False(t, links.MayLeave(ctx))
				require.NoError(t, ctx.Err())
			}
			<-derived.Done()
			require.GreaterOrEqual(t, time.Since(began), 5*time.Second)
			require.LessOrEqual(t, time.Since(began), 5*time.Second+20*time.Millisecond)
			for _, ctx := range []context.Context{first, second, inner, derived} {
				require.ErrorIs(t, ctx.Err(), context.DeadlineExceeded)
			}
		}
		early := l.WithinAll(carried, time.Second, time.Second)
		<-early.Done()
		require.ErrorIs(t, early.Err(), context.DeadlineExceeded)
	})
}

// A caller whose own context can end leaves with that one.
func TestACallersOwnContextIsLeftByItself(t *testing.T) {
	given := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer func() { _ = given.Close() }()
	l, err := links.From(given, links.Limits{Command: time.Second})
	require.NoError(t, err)
	defer func() { require.NoError(t, l.Close()) }()
	own, cancel := context.WithCancel(context.Background())
	ctx := l.WithinAll(own, time.Second, time.Hour)
	require.True(t, links.MayLeave(ctx))
	require.True(t, links.MayLeave(links.Within(own, time.Second)))
	require.False(t, links.MayLeave(links.Within(context.Background(), time.Second)))
	cancel()
	<-ctx.Done()
	require.ErrorIs(t, ctx.Err(), context.Canceled)
}
