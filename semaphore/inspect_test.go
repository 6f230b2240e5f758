package semaphore_test

import (
	"context"
	"encoding/hex"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// stranger puts a permit of Redisson's into the set: 16 bytes of anything.
func (l *lab) stranger(ttl time.Duration) (id string) {
	l.Helper()
	permit := []byte("\x00:\xff/7 \r\n{}\"'ab/0")[:16]
	at := l.direct.Time(l.Context()).Val().Add(ttl).UnixMilli()
	require.NoError(l, l.direct.DecrBy(l.Context(), l.name, 1).Err())
	require.NoError(l, l.direct.ZAdd(l.Context(), l.leases(),
		redis.Z{Score: float64(at), Member: string(permit)}).Err())
	return hex.EncodeToString(permit)
}

func TestInspectShowsWhoHoldsPermits(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s, other := l.leased(9), semaphore.New(l.other, l.name)
	info, err := s.Inspect(t.Context())
	require.NoError(t, err)
	require.Empty(t, info.Holders)
	require.Zero(t, info.Waiters)

	_, release, err := s.Acquire(t.Context(), 2)
	require.NoError(t, err)
	_, releaseOther, err := other.Acquire(t.Context(), 3)
	require.NoError(t, err)
	java := l.stranger(time.Hour)
	waiter := l.waits(l.bounded(), s, 4)
	// A subscription that Redis has made, and the client not heard of, looks like another's.
	redistest.Eventually(t, patience, func() bool {
		info, err = s.Inspect(t.Context())
		return err == nil && info.Waiters == 1
	}, "one waits")
	require.Len(t, info.Holders, 3)
	counts := make(map[int]rlock.Holder)
	for _, h := range info.Holders {
		counts[h.Count] = h
		require.Zero(t, h.Fence, "permits have no tokens")
		require.Positive(t, h.TTL)
	}
	require.True(t, counts[2].Mine)
	require.False(t, counts[3].Mine)
	require.LessOrEqual(t, counts[3].TTL, labLease)
	require.Equal(t, java, counts[1].ID)
	require.Greater(t, counts[1].TTL, 50*time.Minute)
	require.False(t, counts[1].Mine)
	require.Len(t, info.Queue, 1)
	require.True(t, info.Queue[0].Mine)
	require.WithinDuration(t, time.Now(), info.Queue[0].Since, patience)

	require.NoError(t, release())
	got := arrives(t, waiter, "enough are free")
	require.NoError(t, got.err)
	require.NoError(t, got.release())
	require.NoError(t, releaseOther())
	require.NoError(t, s.Break(t.Context(), java))
	l.sums(9, 0)
}

func TestBreakTakesOneHoldAndWakesTheNext(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s, other := l.leased(5), semaphore.New(l.other, l.name)
	held, release, err := s.Acquire(t.Context(), 2)
	require.NoError(t, err)
	theirs, releaseTheirs, err := other.Acquire(t.Context(), 2)
	require.NoError(t, err)
	waiter := l.waits(l.bounded(), other, 3)
	id := func(mine bool) string {
		info, err := s.Inspect(t.Context())
		require.NoError(t, err)
		i := slices.IndexFunc(info.Holders, func(h rlock.Holder) bool { return h.Mine == mine })
		require.GreaterOrEqual(t, i, 0)
		return info.Holders[i].ID
	}
	own := id(true)
	require.NoError(t, s.Break(t.Context(), own))
	require.ErrorIs(t, context.Cause(held), rlock.ErrLost, "a holder of this client learns at once")
	require.ErrorIs(t, release(), rlock.ErrLost)
	got := arrives(t, waiter, "the next is woken")
	require.NoError(t, got.err)
	require.NoError(t, theirs.Err(), "the other hold stands")
	require.ErrorIs(t, s.Break(t.Context(), own), rlock.ErrNotHeld)
	l.sums(0, 5)
	require.NoError(t, got.release())

	foreign := id(false)
	require.NoError(t, s.Break(t.Context(), foreign))
	l.sums(5, 0)
	arrives(t, theirs.Done(), "another process learns with its next renewal")
	require.ErrorIs(t, releaseTheirs(), rlock.ErrLost)
	l.sums(5, 0)
}

// needs 11: an unknown or expired permit is an error, and nothing changes.
func TestBreakOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := l.leased(5)
	expired := l.stranger(-time.Second)
	for _, id := range []string{expired, "00ff", "nobody:1"} {
		require.ErrorIs(t, s.Break(t.Context(), id), rlock.ErrNotHeld)
		l.sums(4, 1)
	}
	info, err := s.Inspect(t.Context())
	require.NoError(t, err)
	require.Empty(t, info.Holders, "its lease is over")
	for _, id := range []string{"", "xyz", "0"} {
		var bad *rlock.ArgumentError
		require.ErrorAs(t, s.Break(t.Context(), id), &bad)
	}
}
