package memstore_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/rwlock"
)

const minute = time.Minute

// slow is a network on which the answers to acquisitions take their time.
type slow time.Duration

func (s slow) Fate(r memstore.Request) (fate memstore.Fate) {
	if r.Kind == memstore.Acquire {
		fate.After = time.Duration(s)
	}
	return fate
}

// A read that began inside a write has that one's token, also if the write is over when the answer comes. Redis knows
// no more than the end of the range that was reserved, of which a write that others wait behind has the beginning.
func TestAReadThatOutlivesItsWriteHasItsToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const trip = 100 * time.Millisecond
		server := memstore.NewServer(slow(trip))
		defer server.Close()
		client, _ := open(t, server, 0, true, minute)
		defer func() { require.NoError(t, client.Close()) }()
		lock, ctx := rwlock.New(client, "a"), context.Background()
		_, unlock, err := lock.Write().Lock(ctx) // learns the clock, and leaves a token
		require.NoError(t, err)
		require.NoError(t, unlock())

		behind, stop := context.WithCancel(ctx)
		defer stop()
		time.AfterFunc(trip/2, func() { _, _, _ = lock.Write().Lock(behind) })
		writing, unlock, err := lock.Write().Lock(ctx)
		require.NoError(t, err)
		write, err := lock.Write().Held(writing)
		require.NoError(t, err)
		time.AfterFunc(trip/2, func() { _ = unlock() })

		reading, unread, err := lock.Read().Lock(context.WithoutCancel(writing))
		require.NoError(t, err)
		read, err := lock.Read().Held(reading)
		require.NoError(t, err)
		require.Equal(t, write.Fence, read.Fence)
		require.ErrorContains(t, context.Cause(writing), "released")
		require.NoError(t, unread())
		stop()
	})
}
