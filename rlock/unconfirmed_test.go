package rlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/rlock"
)

// The text of a release that is unconfirmed says that the work was done, and what goes on (defect F12).
func TestTextOfAnUnconfirmedRelease(t *testing.T) {
	t.Parallel()
	until := time.Date(2026, time.November, 25, 4, 5, 6, 0, time.UTC)
	err := &rlock.ReleaseError{Name: "a\nb", Until: until, Err: rlock.ErrUnavailable}
	errorsOnly(t, err, rlock.ErrUnconfirmed)
	require.EqualError(t, err, `holdfast: lock "a\nb" was held to the end of the work, but its release is unconfirmed, `+
		`and goes on in the background until the lease ends (2026-11-25T04:05:06Z at the latest): `+
		`holdfast: the store is unavailable`)
	err = &rlock.ReleaseError{Name: "printers", Kind: "semaphore", Until: until}
	require.ErrorContains(t, err, `holdfast: permit of semaphore "printers" was held to the end`)
}

// By the time that the error names the lock is free, although Redis never hears of the release (defect F12).
func TestAnUnconfirmedReleaseSaysWhenTheLockIsFree(t *testing.T) {
	t.Parallel()
	for name, opts := range map[string][]rlock.Option{
		"renewed": nil, "fixed": {rlock.FixedLease(7 * time.Minute)}, "of its own": {rlock.Lease(2 * time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				hold := timeLock(t, t.Context(), rlock.New(sim.client(t, rlock.ClientOptions{}), "l", opts...))
				time.Sleep(time.Minute)
				sim.suffer(timeAlways(simredis.DropRequest))
				err := hold.unlock()
				errorsOnly(t, err, rlock.ErrUnconfirmed)
				var release *rlock.ReleaseError
				require.ErrorAs(t, err, &release)
				require.Equal(t, "l", release.Name)
				require.Equal(t, lock.KindLock, release.Kind)
				require.Error(t, release.Err)
				require.ErrorIs(t, context.Cause(hold.ctx), rlock.ErrReleased, "it was no loss")
				require.True(t, sim.Miniredis().Exists("l"))
				time.Sleep(time.Until(release.Until))
				require.False(t, sim.Miniredis().Exists("l"))
				sim.suffer(nil)
			})
		})
	}
}

// An inner level ends while Redis is silent, without waiting for it, and the outer one goes on (defect F12).
func TestTheEndOfALevelWaitsForNobody(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client := sim.client(t, rlock.ClientOptions{})
		outer := timeLock(t, t.Context(), rlock.New(client, "l"))
		inner := timeLock(t, outer.ctx, rlock.New(client, "l", rlock.FixedLease(time.Hour)))
		sim.suffer(timeAlways(simredis.DropRequest))
		began := time.Now()
		require.NoError(t, inner.unlock())
		require.Equal(t, began, time.Now())
		sim.suffer(nil)
		require.NoError(t, outer.ctx.Err())
		require.NoError(t, outer.unlock())
	})
}

// Redis refuses the release: the work was done all the same, and the error says which right is missing (defect F12).
func TestARefusedReleaseIsUnconfirmed(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	l := rlock.New(deniedClient(t, redis.NewClient(deniedUser(t, server))), "l")
	admin, ran := server.Client(t), false
	err := l.Do(conductCtx(t), func(ctx context.Context) error {
		ran = true
		return admin.Do(ctx, "ACL", "SETUSER", "locks", "-evalsha").Err()
	})
	require.True(t, ran)
	errorsOnly(t, err, rlock.ErrUnconfirmed)
	require.ErrorContains(t, err, "the user has no right to run EVALSHA")
	var release *rlock.ReleaseError
	var said redis.Error
	require.ErrorAs(t, err, &release)
	require.True(t, errors.As(release.Err, &said), "what the server said is there too")
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "locks", "+evalsha").Err())
	timeGoneSoon(t, admin, "l")
}
