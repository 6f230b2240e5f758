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

// grantPoll makes an invitation, and so a grant, one of two seconds.
const grantPoll = time.Second

// grantWorld is a fair lock in memory, in virtual time, behind a network that does what a test says.
type grantWorld struct {
	*testing.T
	server *memstore.Server

	mu   sync.Mutex // guards all below
	sent map[grantRequest]int
	does func(r memstore.Request) memstore.Fate
}

type grantRequest struct {
	client int
	kind   memstore.Kind
}

func newGrantWorld(t *testing.T) *grantWorld {
	w := &grantWorld{T: t, sent: make(map[grantRequest]int)}
	w.server = memstore.NewServer(w)
	t.Cleanup(w.server.Close)
	return w
}

// Fate implements memstore.Network.
func (w *grantWorld) Fate(r memstore.Request) memstore.Fate {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent[grantRequest{r.Client, r.Kind}]++
	if w.does == nil {
		return memstore.Fate{}
	}
	return w.does(r)
}

// from says what happens from now on to what concerns a client.
func (w *grantWorld) from(client int, does map[memstore.Kind]memstore.Fate) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.does = func(r memstore.Request) memstore.Fate {
		if r.Client != client {
			return memstore.Fate{}
		}
		return does[r.Kind]
	}
}

func (w *grantWorld) count(client int, kind memstore.Kind) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent[grantRequest{client, kind}]
}

func (w *grantWorld) client(number int, poll time.Duration, replicas int) *rlock.Client {
	w.Helper()
	options, err := redisclient.Options{
		Lease: 3 * time.Second, MaxPoll: poll, MinReplicas: replicas, Logger: quiet,
	}.Checked()
	require.NoError(w, err)
	client, err := redisclient.On(options, redisclient.ByRules(w.server.Store(number, true)), false)
	require.NoError(w, err)
	w.Cleanup(func() { _ = client.Close() })
	return (*rlock.Client)(client)
}

// grantCall is a call of Lock that may not have returned yet.
type grantCall struct {
	*grantWorld
	done   atomic.Bool // set when the others are
	held   context.Context
	unlock func() error
	err    error
}

func (w *grantWorld) lock(client *rlock.Client, opts ...rlock.Option) *grantCall {
	return w.lockWith(context.Background(), client, opts...)
}

// lockWith returns when the call waits, or is done.
func (w *grantWorld) lockWith(ctx context.Context, client *rlock.Client, opts ...rlock.Option) *grantCall {
	c := &grantCall{grantWorld: w}
	go func() {
		c.held, c.unlock, c.err = fairlock.New(client, "a", opts...).Lock(ctx)
		c.done.Store(true)
	}()
	w.pass(10 * time.Millisecond) // the next one comes later
	return c
}

// pass lets time pass, until nothing more happens at that instant.
func (w *grantWorld) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (c *grantCall) in() bool { return c.done.Load() && c.err == nil && c.held.Err() == nil }

// frees unlocks a hold, and returns when all has happened that takes no time.
func (c *grantCall) frees() {
	c.Helper()
	require.True(c, c.in())
	require.NoError(c, c.unlock())
	c.pass(time.Millisecond)
}

func (c *grantCall) id(client *rlock.Client) string {
	c.Helper()
	hold, err := fairlock.New(client, "a").Held(c.held)
	require.NoError(c, err)
	return hold.ID
}

// Whoever must ask before a hold is relied on asks; others do not.
func TestWhoAsksThoughAMessageGrantsTheLock(t *testing.T) {
	for name, c := range map[string]struct {
		replicas int
		opts     []rlock.Option
		asks     bool
	}{
		"a lock":            {0, nil, false},
		"minimum replicas":  {1, nil, true},
		"it is not renewed": {0, []rlock.Option{rlock.FixedLease(2 * time.Second)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newGrantWorld(t)
				mine := w.client(1, grantPoll, c.replicas)
				first := w.lock(w.client(0, grantPoll, 0))
				second := w.lock(mine, c.opts...)
				asked := w.count(1, memstore.Acquire)
				first.frees()
				require.True(t, second.in())
				if c.asks {
					require.Equal(t, asked+1, w.count(1, memstore.Acquire))
					require.Zero(t, w.count(1, memstore.Confirm))
				} else {
					require.Equal(t, asked, w.count(1, memstore.Acquire))
					require.Equal(t, 1, w.count(1, memstore.Confirm))
				}
				second.frees()
			})
		})
	}
}

// A hold that a message granted ends before the grant does, if no answer makes it one like any other.
func TestAHoldByAMessageEndsWithItsGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGrantWorld(t)
		first, second := w.lock(w.client(0, grantPoll, 0)), w.lock(w.client(1, grantPoll, 0))
		third := w.lock(w.client(2, grantPoll, 0))
		w.from(1, map[memstore.Kind]memstore.Fate{
			memstore.Confirm: {Lost: true}, memstore.Message: {Before: 500 * time.Millisecond},
		})
		first.frees()
		require.False(t, second.in())
		w.pass(500 * time.Millisecond)
		require.True(t, second.in())
		w.pass(1400 * time.Millisecond)
		require.True(t, second.in(), "100 ms before the end")
		w.pass(80 * time.Millisecond)
		require.False(t, second.in(), "not at receipt plus lease")
		require.False(t, third.in())
		w.pass(5 * time.Second)
		require.True(t, third.in())
		third.frees()
	})
}

// Nothing passes to another waiter of the process before the first request was answered: that may find the grant gone.
func TestAHoldByAMessageDoesNotPassBeforeItsFirstAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		takes  time.Duration // the first request
		passes bool
	}{"answered": {0, true}, "under way": {400 * time.Millisecond, false}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newGrantWorld(t)
				mine := w.client(1, grantPoll, 0)
				first, second, third := w.lock(w.client(0, grantPoll, 0)), w.lock(mine), w.lock(mine)
				w.from(1, map[memstore.Kind]memstore.Fate{memstore.Confirm: {Before: c.takes}})
				first.frees()
				require.True(t, second.in())
				id := second.id(mine)
				second.frees()
				w.pass(100 * time.Millisecond)
				require.True(t, third.in())
				require.Equal(t, c.passes, third.id(mine) == id)
				w.pass(time.Second) // a request that comes late changes nothing
				require.True(t, third.in())
				third.frees()
			})
		})
	}
}

// A waiter that was refused since the grant was made does not rely on it, whichever of the two it hears of first.
func TestAMessageAfterARefusalIsNotReliedOn(t *testing.T) {
	const way = 300 * time.Millisecond // of the refusal
	for name, late := range map[string]time.Duration{
		"the message is later": 700 * time.Millisecond, "the refusal is later": 450 * time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newGrantWorld(t)
				first := w.lock(w.client(0, grantPoll, 0))
				second, third := w.lock(w.client(1, grantPoll, 0)), w.lock(w.client(2, grantPoll, 0))
				w.pass(700 * time.Millisecond) // the second asks once more in 300 ms
				w.from(1, map[memstore.Kind]memstore.Fate{
					memstore.Message: {Before: late}, memstore.Acquire: {After: way},
				})
				first.frees()
				require.NoError(t, fairlock.New(w.client(3, grantPoll, 0), "a").Break(t.Context()))
				w.pass(100 * time.Millisecond)
				require.True(t, third.in())
				for range 20 {
					w.pass(50 * time.Millisecond)
					require.False(t, second.in(), "two have the lock")
				}
				third.frees()
				w.pass(2 * time.Second)
				require.True(t, second.in())
				second.frees()
			})
		})
	}
}

// A request without an answer may have been carried out, or may be yet: only the next one can tell.
func TestAMessageIsNotReliedOnWhileARequestIsInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGrantWorld(t)
		first, second := w.lock(w.client(0, grantPoll, 0)), w.lock(w.client(1, grantPoll, 0))
		w.from(1, map[memstore.Kind]memstore.Fate{memstore.Acquire: {Mute: true, After: 200 * time.Millisecond}})
		w.pass(grantPoll) // it asks in vain
		asked := w.count(1, memstore.Acquire)
		w.from(1, nil)
		first.frees()
		w.pass(time.Second)
		require.True(t, second.in())
		require.Greater(t, w.count(1, memstore.Acquire), asked)
		require.Zero(t, w.count(1, memstore.Confirm))
		second.frees()
	})
}

// A client that is named for a waiter that has left withdraws that one at once: the next need not wait until the grant
// is over. Here a copy of its request comes after the release by which it left.
func TestAGrantForOneThatHasLeftIsWithdrawn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newGrantWorld(t)
		ctx, cancel := context.WithCancel(t.Context())
		first := w.lock(w.client(0, grantPoll, 0))
		w.from(1, map[memstore.Kind]memstore.Fate{memstore.Acquire: {Again: 300 * time.Millisecond}})
		gone := w.lockWith(ctx, w.client(1, grantPoll, 0))
		w.from(1, nil)
		cancel()
		w.pass(400 * time.Millisecond)
		third := w.lock(w.client(2, grantPoll, 0)) // behind that place
		require.True(t, gone.done.Load())
		require.Error(t, gone.err)
		released := w.count(1, memstore.Release)
		first.frees()
		require.Equal(t, released+1, w.count(1, memstore.Release))
		require.True(t, third.in())
		third.frees()
	})
}

// A grant is relied on by the clock of the server that made it. Where another one has taken over since the client's
// last answer, the client asks.
func TestAGrantOfAServerThatTookOverIsAskedFor(t *testing.T) {
	for name, ahead := range map[string]time.Duration{
		"the same time": 0, "ahead": 300 * time.Millisecond, "behind": -300 * time.Millisecond,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newGrantWorld(t)
				first, second := w.lock(w.client(0, grantPoll, 0)), w.lock(w.client(1, grantPoll, 0))
				third := w.lock(w.client(2, grantPoll/4, 0))
				w.server.Move(ahead)
				w.from(1, map[memstore.Kind]memstore.Fate{memstore.Message: {Before: 400 * time.Millisecond}})
				first.frees()
				w.pass(500 * time.Millisecond)
				require.True(t, second.in())
				require.Zero(t, w.count(1, memstore.Confirm), "it asked")
				w.pass(grantPoll / 3) // the third waiter hears of the new server when it asks
				second.frees()
				w.pass(0)
				require.True(t, third.in())
				require.Equal(t, 1, w.count(2, memstore.Confirm))
				third.frees()
			})
		})
	}
}
