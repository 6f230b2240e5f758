package semaphore_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// expires asserts that the keys expire within d, together.
func (l *lab) expires(d time.Duration, keys ...string) {
	l.Helper()
	for _, key := range keys {
		life := l.direct.PTTL(l.Context(), key).Val()
		require.Greater(l, life, d-patience, key)
		require.LessOrEqual(l, life, d, key)
	}
}

// forever asserts that the keys are there and have no expiry.
func (l *lab) forever(keys ...string) {
	l.Helper()
	for _, key := range keys {
		require.Equal(l, time.Duration(-1), l.direct.PTTL(l.Context(), key).Val(), key)
	}
}

// Each use sets the expiry of both keys anew, and what only looks sets none.
func TestEachUseSetsTheExpiry(t *testing.T) {
	t.Parallel()
	const unused = time.Hour
	l := newLab(t, nil)
	s, plain := semaphore.New(l.client, l.name, semaphore.ExpireUnused(unused)), semaphore.New(l.other, l.name)
	persist := func() { l.direct.Persist(t.Context(), l.name); l.direct.Persist(t.Context(), l.leases()) }

	_, err := s.SetCapacityIfAbsent(l.bounded(), 3)
	require.NoError(t, err)
	l.expires(unused, l.name)
	persist()
	require.NoError(t, s.SetCapacity(l.bounded(), 2))
	l.expires(unused, l.name)
	persist()
	_, err = s.AddCapacity(l.bounded(), 1)
	require.NoError(t, err)
	l.expires(unused, l.name)

	_, release, err := s.Acquire(l.bounded(), 2)
	require.NoError(t, err)
	l.expires(unused, l.name, l.leases())
	persist()
	_, _, err = s.TryAcquire(l.bounded(), 2)
	require.ErrorIs(t, err, rlock.ErrBusy)
	l.expires(unused, l.name, l.leases())
	persist()
	redistest.Eventually(t, patience, func() bool { return l.direct.PTTL(t.Context(), l.name).Val() > 0 }, "a renewal")
	l.expires(unused, l.leases())
	persist()
	_, releasePlain, err := plain.Acquire(l.bounded(), 1)
	require.NoError(t, err)
	require.NoError(t, releasePlain())
	persist() // a renewal may have come in between
	require.NoError(t, release())
	l.expires(unused, l.name)

	persist()
	_, err = s.Available(l.bounded())
	require.NoError(t, err)
	_, err = s.Capacity(l.bounded())
	require.NoError(t, err)
	_, err = s.Inspect(l.bounded())
	require.NoError(t, err)
	l.forever(l.name)
}

// Without the option no use sets an expiry.
func TestWithoutTheOptionNothingExpires(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := l.leased(2)
	_, release, err := s.Acquire(l.bounded(), 1)
	require.NoError(t, err)
	l.forever(l.name, l.leases())
	require.NoError(t, release())
	l.forever(l.name)
}

// The expiry is not before the end of anybody's lease, also of Redisson's.
func TestTheExpirySparesLeases(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := semaphore.New(l.client, l.name, semaphore.ExpireUnused(labLease))
	require.NoError(t, s.SetCapacity(l.bounded(), 3))
	l.stranger(time.Hour)
	_, release, err := s.Acquire(l.bounded(), 1)
	require.NoError(t, err)
	require.NoError(t, release())
	l.expires(time.Hour+time.Second, l.name, l.leases())
}

// What nobody uses vanishes, with what a crash has left; a capacity that is set then wakes who waits for one.
func TestWhatIsUnusedVanishes(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := semaphore.New(l.client, l.name, semaphore.ExpireUnused(labLease))
	require.NoError(t, s.SetCapacity(l.bounded(), 2))
	_, err := l.direct.ZAdd(t.Context(), l.leases(), redis.Z{Score: 1, Member: "crashed:1/0"}).Result()
	require.NoError(t, err)
	require.NoError(t, s.SetCapacity(l.bounded(), 2))
	redistest.Eventually(t, patience, func() bool {
		return l.direct.Exists(t.Context(), l.name, l.leases()).Val() == 0
	}, "both keys vanish")
	_, _, err = s.TryAcquire(l.bounded(), 1)
	require.ErrorIs(t, err, semaphore.ErrNoCapacity)
	waiter := l.waits(l.bounded(), s, 2)
	capacity, err := s.SetCapacityIfAbsent(l.bounded(), 2)
	require.NoError(t, err)
	require.Equal(t, int64(2), capacity)
	got := arrives(t, waiter, "the waiter gets in")
	require.NoError(t, got.err)
	require.NoError(t, got.release())
}

// Somebody who waits asks again, each time a use: for permits of a pause, and of a capacity that is too small.
func TestAWaiterPutsTheExpiryOff(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := semaphore.New(l.client, l.name, semaphore.ExpireUnused(labLease), semaphore.WaitForCapacity())
	for before := range int64(2) {
		require.NoError(t, s.SetCapacity(l.bounded(), before))
		waiter := l.waits(l.bounded(), s, 2)
		time.Sleep(3 * labLease)
		l.sums(before, 0)
		require.NoError(t, s.SetCapacity(l.bounded(), 2))
		got := arrives(t, waiter, "the waiter gets in")
		require.NoError(t, got.err)
		require.NoError(t, got.release())
	}
}

// A user who lacks the right to ask for the last lease sets no expiry, and has all else.
func TestWithoutTheRightNothingExpires(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	user := "limited:" + l.name
	require.NoError(t, l.direct.Do(t.Context(), "ACL", "SETUSER", user,
		"on", ">secret", "~*", "&*", "+@all", "-zrange").Err())
	t.Cleanup(func() { l.direct.Do(context.Background(), "ACL", "DELUSER", user) })
	rdb := redis.NewClient(&redis.Options{Addr: l.server.Addr(), Username: user, Password: "secret"})
	client, err := rlock.NewClient(rdb, quiet(&rlock.ClientOptions{Lease: labLease}))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, errors.Join(client.Close(), rdb.Close())) })
	s := semaphore.New(client, l.name, semaphore.ExpireUnused(labLease))
	require.NoError(t, s.SetCapacity(l.bounded(), 2))
	held, release, err := s.Acquire(l.bounded(), 1)
	require.NoError(t, err)
	l.forever(l.name, l.leases())
	time.Sleep(2 * labLease) // renewals
	require.NoError(t, held.Err())
	l.forever(l.name, l.leases())
	require.NoError(t, release())
	l.forever(l.name)
}

// Permits that are held for longer than that, and a wait that is longer, are uses: in virtual time.
func TestHeldPermitsAndWaitersAreUses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const unused = time.Minute
		client := holdfasttest.New(t).Client(nil)
		s := semaphore.New(client, "jobs", semaphore.ExpireUnused(unused))
		require.NoError(t, s.SetCapacity(t.Context(), 1))
		held, release, err := s.Acquire(t.Context(), 1)
		require.NoError(t, err)
		time.Sleep(10 * unused)
		require.NoError(t, held.Err())
		require.NoError(t, s.SetCapacity(t.Context(), 0)) // a pause
		require.NoError(t, release())
		served := make(chan error)
		go func() { served <- s.Do(t.Context(), 1, context.Cause) }()
		time.Sleep(10 * unused)
		capacity, err := s.AddCapacity(t.Context(), 1)
		require.NoError(t, err)
		require.Equal(t, int64(1), capacity)
		require.NoError(t, <-served)

		time.Sleep(unused - time.Second)
		_, err = s.Capacity(t.Context())
		require.NoError(t, err, "not yet")
		time.Sleep(2 * time.Second)
		_, err = s.Capacity(t.Context())
		require.ErrorIs(t, err, semaphore.ErrNoCapacity)
	})
}

func TestExpiriesThatAreRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	for _, d := range []time.Duration{-1, 0, time.Microsecond, labLease - 1, 1 << 62} {
		var bad *rlock.ArgumentError
		err := semaphore.New(l.client, l.name, semaphore.ExpireUnused(d)).SetCapacity(t.Context(), 1)
		require.ErrorAs(t, err, &bad, d)
		require.Equal(t, "ExpireUnused", bad.Name)
	}
	_, err := semaphore.NewCounting(l.client, l.name, semaphore.ExpireUnused(time.Hour)).Available(t.Context())
	require.ErrorContains(t, err, "use New")
}
