package engine_test

import (
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/internal/redisclient"
	"github.com/holdfast-go/holdfast/rlock"
)

// copies is a network that is perfect but for what a test says of a kind of requests.
type copies struct {
	mu    sync.Mutex // guards fates
	fates map[memstore.Kind]memstore.Fate
}

// Fate implements memstore.Network. What is said of an acquisition concerns the next one alone.
func (c *copies) Fate(r memstore.Request) memstore.Fate {
	c.mu.Lock()
	defer c.mu.Unlock()
	fate := c.fates[r.Kind]
	if r.Kind == memstore.Acquire {
		delete(c.fates, r.Kind)
	}
	return fate
}

func (c *copies) say(fates map[memstore.Kind]memstore.Fate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fates = fates
}

// known is a lock of a client that knows the server's clock, from an acquisition before.
func known(t *testing.T, server *memstore.Server, lease time.Duration, opts ...rlock.Option) (
	lock *rlock.Lock, hangUp func(),
) {
	t.Helper()
	options, err := redisclient.Options{Lease: lease, Logger: slog.New(slog.DiscardHandler)}.Checked()
	require.NoError(t, err)
	client, err := redisclient.On(options, redisclient.ByRules(server.Store(0, true)), false)
	require.NoError(t, err)
	lock = rlock.New((*rlock.Client)(client), "a", opts...)
	_, unlock, err := lock.Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, unlock())
	return lock, func() { require.NoError(t, client.Close()) }
}

// A copy of an acquisition is carried out between its hold's release and the answer to that, which comes when no copy
// can come any more. What it took is released all the same: it came in time, and nobody has it.
func TestACopyThatComesBeforeTheAnswerToTheRelease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		net := new(copies)
		server := memstore.NewServer(net)
		defer server.Close()
		lock, hangUp := known(t, server, 3*time.Second)
		defer hangUp()

		const limit = 500 * time.Millisecond // of a request
		net.say(map[memstore.Kind]memstore.Fate{
			memstore.Acquire: {Mute: true, Again: limit / 2}, memstore.Release: {After: limit - time.Millisecond},
		})
		began := time.Now()
		_, unlock, err := lock.Lock(t.Context()) // it asks again
		require.NoError(t, err)
		require.NoError(t, unlock())
		require.Greater(t, time.Since(began), limit)
		net.say(nil)
		time.Sleep(10 * time.Millisecond)
		held, _ := server.Holds("a")
		require.Zero(t, held, "nobody has it")
	})
}

// On PostgreSQL a first request takes the lock, and its commit waits for longer than the lease, which does not run out
// meanwhile, for the server's clock is set back. The waiter, which is told that the row is locked until it finds that it
// has the lock, must not rely on it for longer than the server does.
func TestAHoldIsValidForNoLongerThanTheRestOfItsLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const lease = 3 * time.Second
		net := new(copies)
		server := memstore.NewServer(net)
		defer server.Close()
		lock, hangUp := known(t, server, lease, rlock.FixedLease(lease))
		defer hangUp()

		net.say(map[memstore.Kind]memstore.Fate{memstore.Acquire: {Commit: lease * 5 / 3}})
		time.AfterFunc(lease/30, func() { server.SetBack(lease * 4 / 3) })
		began := time.Now()
		ctx, unlock, err := lock.Lock(t.Context())
		require.NoError(t, err)
		require.Greater(t, time.Since(began), lease*5/3, "the commit was not waited for")
		hold, err := lock.Held(ctx)
		require.NoError(t, err)
		require.False(t, hold.ValidUntil.After(began.Add(lease*7/3)), "the server's lease ends sooner")
		require.True(t, hold.ValidUntil.After(began.Add(lease*2)), "it lasts that long")
		require.NoError(t, unlock())
	})
}
