package fairlock_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/internal/redisclient"
	"github.com/holdfast-go/holdfast/rlock"
)

// worldPoll makes an invitation one of two seconds.
const worldPoll = time.Second

// world is a fair lock in memory, in virtual time, behind a network that does what a test says.
type world struct {
	*testing.T
	server *memstore.Server

	mu   sync.Mutex // guards all below
	sent map[worldRequest]int
	does func(r memstore.Request) memstore.Fate
}

type worldRequest struct {
	client int
	kind   memstore.Kind
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, sent: make(map[worldRequest]int)}
	w.server = memstore.NewServer(w)
	t.Cleanup(w.server.Close)
	return w
}

// Fate implements memstore.Network.
func (w *world) Fate(r memstore.Request) memstore.Fate {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent[worldRequest{r.Client, r.Kind}]++
	if w.does == nil {
		return memstore.Fate{}
	}
	return w.does(r)
}

// from says what happens from now on to what concerns a client.
func (w *world) from(client int, does map[memstore.Kind]memstore.Fate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.does = func(r memstore.Request) memstore.Fate {
		if r.Client != client {
			return memstore.Fate{}
		}
		return does[r.Kind]
	}
}

func (w *world) count(client int, kind memstore.Kind) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent[worldRequest{client, kind}]
}

func (w *world) client(number int) *rlock.Client {
	w.Helper()
	options, err := redisclient.Options{Lease: 3 * time.Second, MaxPoll: worldPoll, Logger: quiet}.Checked()
	require.NoError(w, err)
	client, err := redisclient.On(options, redisclient.ByRules(w.server.Store(number, true)), false)
	require.NoError(w, err)
	w.Cleanup(func() { _ = client.Close() })
	return (*rlock.Client)(client)
}

// worldCall is a call of Lock that may not have returned yet.
type worldCall struct {
	*world
	done   atomic.Bool // set when the others are
	held   context.Context
	unlock func() error
	err    error
}

func (w *world) lock(client *rlock.Client) *worldCall {
	return w.lockWith(context.Background(), client)
}

// lockWith returns when the call waits, or is done.
func (w *world) lockWith(ctx context.Context, client *rlock.Client, opts ...rlock.Option) *worldCall {
	c := &worldCall{world: w}
	go func() {
		c.held, c.unlock, c.err = fairlock.New(client, "a", opts...).Lock(ctx)
		c.done.Store(true)
	}()
	w.pass(10 * time.Millisecond) // the next one comes later
	return c
}

// pass lets time pass, until nothing more happens at that instant.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (c *worldCall) in() bool { return c.done.Load() && c.err == nil && c.held.Err() == nil }

// frees unlocks a hold, and returns when all has happened that takes no time.
func (c *worldCall) frees() {
	c.Helper()
	require.True(c, c.in())
	require.NoError(c, c.unlock())
	c.pass(time.Millisecond)
}
