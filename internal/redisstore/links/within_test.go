package links

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// left is what is left until the deadline of ctx.
func left(ctx context.Context) time.Duration {
	at, _ := ctx.Deadline()
	return time.Until(at)
}

// The greeting of a connection has its own limit, and the command that follows it has that of a command. Neither goes
// beyond the end that an exchange has.
func TestAGreetingMovesTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 200 * time.Millisecond
		own, cancel := context.WithTimeout(t.Context(), 450*time.Millisecond)
		defer cancel()
		free, until, all := Within(t.Context(), limit), Within(own, limit), WithinAll(t.Context(), limit, 300*time.Millisecond)
		derived, stop := context.WithCancel(free)
		defer stop()
		for _, ctx := range []context.Context{free, derived, until, all} {
			require.Equal(t, limit, left(ctx))
		}
		time.Sleep(100 * time.Millisecond)
		for _, ctx := range []context.Context{derived, until, all} {
			greets(ctx)
		}
		require.Equal(t, 400*time.Millisecond, left(free))
		require.Equal(t, 350*time.Millisecond, left(until))
		require.Equal(t, 200*time.Millisecond, left(all))
		time.Sleep(320 * time.Millisecond)
		for _, ctx := range []context.Context{derived, until, all} {
			greeted(ctx)
		}
		require.Equal(t, limit, left(free))
		require.Equal(t, 30*time.Millisecond, left(until))
		require.Equal(t, -120*time.Millisecond, left(all), "it was over before")
		greets(derived)
		require.Equal(t, limit, left(free), "a second connection has what is left")
		greets(t.Context()) // one that has no limit of ours
	})
}

// The deadlines of all requests of an exchange move with it, each by its own limit. Their ends are not its own.
func TestAGreetingMovesTheDeadlinesOfAllRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		long, cancel := context.WithCancel(Within(t.Context(), time.Second))
		short, bound := Within(t.Context(), 100*time.Millisecond), WithinAll(t.Context(), time.Second, 1200*time.Millisecond)
		exchange := Together([]context.Context{long, short, bound, t.Context()}, 1500*time.Millisecond, 2*time.Second)
		require.Equal(t, 1500*time.Millisecond, left(exchange), "over a connection that is there")
		time.Sleep(50 * time.Millisecond)
		greets(exchange)
		require.Equal(t, 3*time.Second, left(exchange))
		require.Equal(t, 2*time.Second, left(long))
		require.Equal(t, 200*time.Millisecond, left(short))
		require.Equal(t, 1150*time.Millisecond, left(bound))
		time.Sleep(150 * time.Millisecond)
		greeted(exchange)
		require.Equal(t, 2850*time.Millisecond, left(exchange), "it moves to later times only")
		require.Equal(t, 1850*time.Millisecond, left(long))
		require.Equal(t, 100*time.Millisecond, left(short))
		cancel()
		require.NoError(t, exchange.Err())
		require.Nil(t, exchange.Done())
	})
}

// An exchange that has less time over a connection that is there has as much as any other over a new one. So has the
// request that it carries, up to its end.
func TestAGreetingMovesASoonerDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = time.Second
		request := WithinAll(t.Context(), limit, 2200*time.Millisecond)
		first := Sooner(request, limit/2)
		require.Equal(t, limit/2, left(first))
		require.Equal(t, limit, left(request))
		time.Sleep(100 * time.Millisecond)
		greets(first)
		require.Equal(t, 2*limit, left(first))
		require.Equal(t, 2*limit, left(request))
		time.Sleep(1500 * time.Millisecond)
		greeted(first)
		require.Equal(t, 600*time.Millisecond, left(first), "not beyond the end")
		require.Equal(t, left(request), left(first))
		require.Equal(t, t.Context(), Sooner(t.Context(), limit), "one that has no limit of ours")
	})
}
