package fairlock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisclient"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// Where the slot is being moved a claim goes key by key: it makes a lease of an invitation, with a token of its
// own, and takes the waiter out of the queue (interleaving 17).
func TestAnInvitationIsClaimedKeyByKey(t *testing.T) {
	t.Parallel()
	rdb := redistest.Shared(t).Client(t)
	client, err := rlock.NewClient(rdb, nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	q, err := newQueue((*redisclient.Client)(client), redistest.Key(t))
	require.NoError(t, err)
	never := time.Now().Add(time.Hour).UnixMicro()
	const holder, waiter = "a:1", "b:1"
	ask := func(id string) store.Ask {
		return store.Ask{ID: id, Lease: time.Minute, NotAfter: never}
	}
	first, err := q.Acquire(t.Context(), rdb, ask(holder))
	require.NoError(t, err)
	require.Equal(t, luacall.Held, first.Status)
	busy, err := q.Acquire(t.Context(), rdb, ask(waiter))
	require.NoError(t, err)
	require.Equal(t, luacall.Busy, busy.Status)

	taken, err := q.take(t.Context(), rdb, ask(waiter))
	require.NoError(t, err)
	require.Equal(t, luacall.Busy, taken.Status, "it is not invited yet")
	_, err = q.Release(holder, false, false).Run(t.Context(), rdb)
	require.NoError(t, err)
	require.Less(t, rdb.PTTL(t.Context(), q.keys.Lock).Val(), 10*time.Second)
	taken, err = q.take(t.Context(), rdb, ask(waiter))
	require.NoError(t, err)
	require.Equal(t, luacall.Already, taken.Status)
	require.Greater(t, taken.Fence, first.Fence)
	require.Greater(t, rdb.PTTL(t.Context(), q.keys.Lock).Val(), 50*time.Second)
	require.Zero(t, rdb.Exists(t.Context(), q.keys.Queue).Val())
	late, err := q.take(t.Context(), rdb, store.Ask{ID: "c:1", Lease: time.Minute, NotAfter: 1})
	require.NoError(t, err)
	require.Equal(t, luacall.Late, late.Status)

	_, err = q.Release(waiter, false, false).Run(t.Context(), rdb)
	require.NoError(t, err)
	require.Zero(t, rdb.Exists(t.Context(), q.keys.Lock).Val())
	taken, err = q.take(t.Context(), rdb, ask("d:1"))
	require.NoError(t, err)
	require.Equal(t, luacall.Held, taken.Status, "what is free is anybody's")
	require.NoError(t, rdb.Del(t.Context(), q.keys.Lock).Err())
}

// What the client is made for decides the times of its queues.
func TestTimesFollowThePoll(t *testing.T) {
	for poll, want := range map[time.Duration]luacall.FairTimes{
		time.Millisecond: {Life: 2000, Step: 500, Grant: 1001, Settle: 1001},
		time.Second:      {Life: 4000, Step: 1000, Grant: 2000, Settle: 2000},
		time.Hour:        {Life: 4 * 3600 * 1000, Step: 3600 * 1000, Grant: 3000, Settle: 5000},
	} {
		want.Run, want.Pause, want.Keep = 1000, 50, want.Life+600_000
		require.Equal(t, want, timesFor(poll), poll)
	}
}
