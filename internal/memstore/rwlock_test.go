package memstore_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/rlock"
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

// A read that was asked for inside a write, and that Redis came to when others had written since, has the newest token:
// with that of its write, the tokens at the storage would fall.
func TestAReadAfterItsWriteHasTheNewestToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const trip = 100 * time.Millisecond
		server := memstore.NewServer(early(trip))
		defer server.Close()
		client, _ := open(t, server, 0, true, minute)
		defer func() { require.NoError(t, client.Close()) }()
		other, _ := open(t, server, 1, true, minute)
		defer func() { require.NoError(t, other.Close()) }()
		lock, ctx := rwlock.New(client, "a"), context.Background()

		writing, unlock, err := lock.Write().Lock(ctx)
		require.NoError(t, err)
		write, err := lock.Write().Held(writing)
		require.NoError(t, err)
		var next int64
		time.AfterFunc(trip/4, func() { _ = unlock() })
		time.AfterFunc(trip/2, func() {
			writing, unlock, err := rwlock.New(other, "a").Write().Lock(ctx)
			if err == nil {
				held, _ := rwlock.New(other, "a").Write().Held(writing)
				next = held.Fence
				_ = unlock()
			}
		})

		reading, unread, err := lock.Read().Lock(context.WithoutCancel(writing))
		require.NoError(t, err)
		read, err := lock.Read().Held(reading)
		require.NoError(t, err)
		require.Greater(t, next, write.Fence)
		require.Equal(t, next, read.Fence)
		require.NoError(t, unread())
	})
}

// early is a network on which the acquisitions of client 0 take their time before the server reads them, but for the
// first one.
type early time.Duration

func (e early) Fate(r memstore.Request) (fate memstore.Fate) {
	if r.Kind == memstore.Acquire && r.Client == 0 && r.Nth > 1 {
		fate.Before = time.Duration(e)
	}
	return fate
}

// The answer to a read inside a write is lost, and the write is over when the read is asked for again: the token is not
// below that of the write, and below that of the next one.
func TestAReadWhoseAnswerWasLostHasATokenInOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		net := &muteOnce{}
		server := memstore.NewServer(net)
		defer server.Close()
		client, _ := open(t, server, 0, true, minute)
		defer func() { require.NoError(t, client.Close()) }()
		lock := rwlock.New(client, "a")
		write := func() (held rlock.Hold, ctx context.Context, unlock func() error) {
			ctx, unlock, err := lock.Write().Lock(context.Background())
			require.NoError(t, err)
			held, err = lock.Write().Held(ctx)
			require.NoError(t, err)
			return held, ctx, unlock
		}
		before, writing, unlock := write()
		net.armed.Store(true)
		net.lost = func() { require.NoError(t, unlock()) }
		reading, unread, err := lock.Read().Lock(context.WithoutCancel(writing))
		require.NoError(t, err)
		require.False(t, net.armed.Load(), "an answer was lost")
		read, err := lock.Read().Held(reading)
		require.NoError(t, err)
		require.GreaterOrEqual(t, read.Fence, before.Fence)
		require.ErrorContains(t, context.Cause(writing), "released")
		require.NoError(t, unread())
		after, _, unlock := write()
		require.Greater(t, after.Fence, read.Fence)
		require.NoError(t, unlock())
	})
}

// muteOnce is a network that loses one answer to an acquisition, and calls a function when its sender learns that.
type muteOnce struct {
	armed atomic.Bool
	lost  func()
}

func (m *muteOnce) Fate(r memstore.Request) (fate memstore.Fate) {
	if r.Kind == memstore.Acquire && m.armed.Swap(false) {
		fate.After, fate.Mute = time.Millisecond, true
		time.AfterFunc(time.Millisecond/2, m.lost)
	}
	return fate
}

// A reader of a name without a token has one from the clock, as in Redis: all readers have the same, and the next writer
// has a higher one.
func TestAReaderOfANewNameHasAToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := memstore.NewServer(slow(0))
		defer server.Close()
		var tokens []int64
		for i := range 2 {
			client, _ := open(t, server, i, true, minute)
			defer func() { require.NoError(t, client.Close()) }()
			side := rwlock.New(client, "a").Read()
			ctx, unlock, err := side.Lock(context.Background())
			require.NoError(t, err)
			read, err := side.Held(ctx)
			require.NoError(t, err)
			tokens = append(tokens, read.Fence)
			require.NoError(t, unlock())
		}
		client, _ := open(t, server, 2, true, minute)
		defer func() { require.NoError(t, client.Close()) }()
		side := rwlock.New(client, "a").Write()
		ctx, unlock, err := side.Lock(context.Background())
		require.NoError(t, err)
		write, err := side.Held(ctx)
		require.NoError(t, err)
		require.NoError(t, unlock())

		require.Positive(t, tokens[0])
		require.Equal(t, tokens[0], tokens[1])
		require.Greater(t, write.Fence, tokens[1])
	})
}
