package integration_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// G2, G10, bug 20: the clocks of a client and of its server differ by an hour, either way. Leases are as requested,
// holds are renewed, fixed leases end in time for both, and waiters get the lock.
func TestAnHourBetweenTheClocksChangesNoLease(t *testing.T) {
	const lease, fixed = 6 * time.Second, 2 * time.Second
	server, clock := redistest.StartWithClock(t)
	rdb := server.Client(t)
	for name, apart := range map[string]time.Duration{
		"the server's ahead": time.Hour, "the client's ahead": -time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			clock.Ahead(apart)
			client, events := newClient(t, server.Client(t), rlock.ClientOptions{Lease: lease, MaxPoll: never})
			other, _ := newClient(t, server.Client(t), rlock.ClientOptions{Lease: lease, MaxPoll: never})
			lock := rlock.New(client, "hour")
			before := time.Now()
			ctx, unlock := held(t, lock)
			keeps := func(longest time.Duration) {
				t.Helper()
				left := rdb.PTTL(context.Background(), "hour").Val()
				require.Positive(t, left)
				require.LessOrEqual(t, left, longest)
			}
			keeps(lease)
			until := alive(t, lock, ctx).ValidUntil
			require.WithinRange(t, until, before, time.Now().Add(lease))
			events.renewedAgain(t, 2, lock.Name())
			keeps(lease)
			require.True(t, alive(t, lock, ctx).ValidUntil.After(until))
			waiter := waiting(t, events, lock)
			require.NoError(t, unlock())
			require.NoError(t, arrives(t, waiter).unlock())

			brief := rlock.New(other, "hour", rlock.FixedLease(fixed))
			ctx, unlock = held(t, brief)
			keeps(fixed)
			next := waiting(t, events, lock)
			o := arrives(t, next)
			require.ErrorIs(t, context.Cause(ctx), rlock.ErrLost, "another is in, and this one still believes")
			require.ErrorIs(t, unlock(), rlock.ErrLost)
			require.NoError(t, o.unlock())
			require.Empty(t, events.losses())
		})
	}
}

// Bug 20: no script gives Redis a time of day at which a key ends: that is where a wrong clock would do the most
// harm.
func TestScriptsNameNoTimeOfDay(t *testing.T) {
	scripts, err := filepath.Glob("../lua/*.lua")
	require.NoError(t, err)
	require.NotEmpty(t, scripts)
	absolute := regexp.MustCompile(`(?i)'(p?expireat|pxat|exat)'`)
	relative := regexp.MustCompile(`(?i)'pexpire'`)
	seen := false
	for _, script := range scripts {
		source, err := os.ReadFile(script)
		require.NoError(t, err)
		require.NotRegexp(t, absolute, string(source), script)
		seen = seen || relative.Match(source)
	}
	require.True(t, seen, "this is not how scripts are written any more")
}
