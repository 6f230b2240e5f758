package rlock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// conductHeldKeys are the locks that somebody holds in Redis; the keys of tokens outlive them.
func conductHeldKeys(t testing.TB, server *redistest.Server) []string {
	t.Helper()
	var held []string
	for _, key := range server.Keys(t) {
		if !strings.HasPrefix(key, "redisson_lock_token:") {
			held = append(held, key)
		}
	}
	return held
}

// The next acquisition cannot continue from what it finds at the token's key: who unlocked succeeds all the same, and
// the waiter gets the reason.
func TestAReleaseBeforeABadTokenKey(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb := server.Client(t)
	line := conductLineOn(t, server.Addr(), nil)
	lock := rlock.New(line.Client, "l")
	_, unlock := conductTake(t, conductCtx(t), lock)
	waiter := line.join(t, conductCtx(t), lock)
	require.NoError(t, rdb.Set(t.Context(), "redisson_lock_token:{l}", "words", 0).Err())
	require.NoError(t, unlock(), "the holder held to the end, and could be released")
	require.ErrorIs(t, conductAwait(t, waiter, "the waiter returns").err, rlock.ErrKeyConflict)
	require.Empty(t, conductHeldKeys(t, server), "the lock is free")
	require.Equal(t, "words", rdb.Get(t.Context(), "redisson_lock_token:{l}").Val())
}

// G8, G10: the new hold has the waiter's own lease and options, not the releaser's.
func TestTheNextOneHasItsOwnLease(t *testing.T) {
	t.Parallel()
	const long, short = 10 * time.Minute, time.Minute
	for _, test := range []struct {
		name           string
		holder, waiter []rlock.Option
		from, to       time.Duration
	}{
		{"shorter", nil, []rlock.Option{rlock.FixedLease(short)}, long, short},
		{"longer", []rlock.Option{rlock.FixedLease(short)}, nil, short, long},
		{"both fixed", []rlock.Option{rlock.FixedLease(time.Hour)},
			[]rlock.Option{rlock.FixedLease(90 * time.Second)}, time.Hour, 90 * time.Second},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			proxy := faultproxy.Start(t, server.Addr())
			rdb := server.Client(t)
			line := conductLineOn(t, proxy.Addr(), &rlock.ClientOptions{Lease: long})
			pttl := func(want time.Duration) {
				t.Helper()
				got := rdb.PTTL(t.Context(), "l").Val()
				require.LessOrEqual(t, got, want)
				require.Greater(t, got, want-conductLimit)
			}
			held, unlock := conductTake(t, conductCtx(t), rlock.New(line.Client, "l", test.holder...))
			pttl(test.from)
			own := rlock.New(line.Client, "l", test.waiter...)
			waiter := line.join(t, conductCtx(t), own)
			require.NoError(t, unlock())
			g := line.in(t, waiter)
			require.Equal(t, 1, proxy.Requests(conductScript("release"))-conductNoScript(proxy, "release"))
			pttl(test.to)
			hold, err := own.Held(g.ctx)
			require.NoError(t, err)
			require.WithinDuration(t, time.Now().Add(test.to), hold.ValidUntil, conductLimit)
			require.ErrorIs(t, context.Cause(held), rlock.ErrReleased)
			require.NoError(t, g.unlock())
		})
	}
}

// conductNoScript counts how often a script was sent in full, because the server did not know it.
func conductNoScript(p *faultproxy.Proxy, name string) int {
	return p.Requests(faultproxy.And(conductScript(name), faultproxy.Command("eval")))
}

// One that waited in this process, with a short lease of its own, loses it on time.
func TestAFixedLeaseEndsAfterAWait(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	line := conductLineOn(t, server.Addr(), nil)
	name := redistest.Key(t)
	_, unlock := conductTake(t, conductCtx(t), rlock.New(line.Client, name))
	waiter := line.join(t, conductCtx(t), rlock.New(line.Client, name, rlock.FixedLease(400*time.Millisecond)))
	require.NoError(t, unlock())
	g := line.in(t, waiter)
	next, again := conductTake(t, conductCtx(t), rlock.New(line.Client, name))
	require.ErrorIs(t, context.Cause(g.ctx), rlock.ErrLost)
	require.NoError(t, next.Err())
	require.ErrorIs(t, g.unlock(), rlock.ErrLost)
	require.NoError(t, again())
}
