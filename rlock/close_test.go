package rlock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// G11, need 25: wherever a waiter stands, Close wakes it, and with ErrClosed.
func TestCloseWakesWaitersWhereverTheyStand(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		// prepare arranges what the waiter waits for, and returns a function that waits until it does.
		prepare func(t *testing.T, lab *conductCloseLab) (stands func())
	}{
		{"behind its own client", func(t *testing.T, lab *conductCloseLab) func() {
			_, _ = conductTake(t, conductCtx(t), rlock.New(lab.client, "l"))
			return func() { conductWaits(t, lab.client, 1) }
		}},
		{"subscribed, for another client", func(t *testing.T, lab *conductCloseLab) func() {
			_, unlock := conductTake(t, conductCtx(t), rlock.New(lab.other, "l"))
			t.Cleanup(func() { _ = unlock() })
			return func() {
				redistest.Eventually(t, conductLimit, func() bool {
					return len(lab.server.PubSubChannels(t)) == 1
				}, "it is subscribed")
			}
		}},
		{"in its subscription", func(t *testing.T, lab *conductCloseLab) func() {
			_, unlock := conductTake(t, conductCtx(t), rlock.New(lab.other, "l"))
			t.Cleanup(func() { _ = unlock() })
			stuck := lab.proxy.On(faultproxy.Command("subscribe"), faultproxy.DropRequest)
			return func() { stuck.Wait(t, 1) }
		}},
		{"in its request", func(t *testing.T, lab *conductCloseLab) func() {
			stuck := lab.proxy.On(faultproxy.AnyScript, faultproxy.DropRequest)
			return func() { stuck.Wait(t, 1) }
		}},
		{"in its dialling", func(t *testing.T, lab *conductCloseLab) func() {
			lab.proxy.Blackhole(true)
			return func() {}
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			lab := newConductCloseLab(t, 0)
			stands := test.prepare(t, lab)
			ctx, left := conductCtx(t), make(chan conductGrant, 1)
			go func() {
				same, unlock, err := rlock.New(lab.client, "l").Lock(ctx)
				left <- conductGrant{same, unlock, err}
			}()
			stands()
			_ = lab.client.Close()
			g := conductAwait(t, left, "the waiter returns")
			require.ErrorIs(t, g.err, rlock.ErrClosed)
			require.NotErrorIs(t, g.err, rlock.ErrBusy)
			require.NotErrorIs(t, g.err, rlock.ErrUnavailable)
			require.True(t, g.ctx == ctx)
			require.ErrorIs(t, g.unlock(), rlock.ErrNotHeld)
		})
	}
}

// conductCloseLab is a client behind a proxy, another one past it, and the application's own.
type conductCloseLab struct {
	server        *redistest.Server
	proxy         *faultproxy.Proxy
	rdb           *redis.Client
	client, other *rlock.Client
	sent          redistest.Meter
}

func newConductCloseLab(t *testing.T, release time.Duration) *conductCloseLab {
	t.Helper()
	lab := &conductCloseLab{server: redistest.Start(t)}
	lab.proxy = faultproxy.Start(t, lab.server.Addr())
	lab.rdb = redis.NewClient(&redis.Options{Addr: lab.proxy.Addr(), Dialer: lab.sent.Dial})
	t.Cleanup(func() { _ = lab.rdb.Close() })
	client, err := rlock.NewClient(lab.rdb, conductQuiet(&rlock.ClientOptions{
		ReleaseTimeout: release,
	}))
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	lab.client, lab.other = client, conductClient(t, lab.server.Addr(), nil)
	return lab
}

// G11, need 25: a thousand holds are ended, and released in some few batches. The number of writes to sockets
// tells a batch from a thousand calls; one of them takes 32 kB.
func TestCloseReleasesAThousandLocksInBatches(t *testing.T) {
	t.Parallel()
	const locks = 1000
	lab := newConductCloseLab(t, time.Minute)
	held := make([]context.Context, locks)
	unlocks := make([]func() error, locks)
	var all sync.WaitGroup
	for worker := range 8 {
		all.Go(func() {
			for i := worker; i < locks; i += 8 {
				var err error
				held[i], unlocks[i], err = rlock.New(lab.client, fmt.Sprintf("l%04d", i)).Lock(conductCtx(t))
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.Len(t, conductHeldKeys(t, lab.server), locks)
	releases := lab.server.Calls(t, "evalsha") + lab.server.Calls(t, "eval")
	writes := lab.sent.Writes()
	err := lab.client.Close()
	writes = lab.sent.Writes() - writes
	releases = lab.server.Calls(t, "evalsha") + lab.server.Calls(t, "eval") - releases

	require.ErrorContains(t, err, "l0000")
	require.ErrorContains(t, err, "990 more")
	require.Empty(t, conductHeldKeys(t, lab.server))
	require.LessOrEqual(t, releases, int64(locks+300), "each is released once, but for one batch of NOSCRIPT")
	require.Less(t, writes, int64(locks/10), "the releases come in batches")
	for i := range locks {
		require.ErrorIs(t, context.Cause(held[i]), rlock.ErrClosed)
		require.ErrorIs(t, unlocks[i](), rlock.ErrClosed)
		require.ErrorIs(t, unlocks[i](), rlock.ErrNotHeld)
	}
	require.NoError(t, lab.client.Close())
	require.NoError(t, lab.rdb.Ping(t.Context()).Err(), "the application's client stays open")
}

// G11: the contexts end before Redis is told, so no context is live when the next holder may have the lock.
func TestCloseEndsTheContextsFirst(t *testing.T) {
	t.Parallel()
	lab := newConductCloseLab(t, time.Minute)
	held, _ := conductTake(t, conductCtx(t), rlock.New(lab.client, "l"))
	gate := faultproxy.NewGate()
	lab.proxy.On(conductScript("release"), faultproxy.HoldRequest(gate)).Times(-1)
	closed := make(chan error, 1)
	go func() { closed <- lab.client.Close() }()
	<-held.Done() // hangs if the release came first: nothing is released before the gate opens
	require.ErrorIs(t, context.Cause(held), rlock.ErrClosed)
	require.Equal(t, []string{"l"}, conductHeldKeys(t, lab.server))
	gate.Open()
	require.ErrorContains(t, conductAwait(t, closed, "Close returns"), `"l"`)
	require.Empty(t, conductHeldKeys(t, lab.server))
}

// G11: the bound is ReleaseTimeout, whatever Redis does. The lease frees what could not be released.
func TestCloseIsBoundedWhenRedisIsSilent(t *testing.T) {
	t.Parallel()
	for name, silence := range map[string]func(lab *conductCloseLab){
		"blackholed": func(lab *conductCloseLab) { lab.proxy.Blackhole(true) },
		"stopped":    func(lab *conductCloseLab) { lab.server.Stop() },
		"killed":     func(lab *conductCloseLab) { lab.server.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := newConductCloseLab(t, 300*time.Millisecond)
			held, unlock := conductTake(t, conductCtx(t), rlock.New(lab.client, "l"))
			waiter := make(chan error, 1)
			go func() {
				_, _, err := rlock.New(lab.client, "l").Lock(conductCtx(t))
				waiter <- err
			}()
			conductWaits(t, lab.client, 1)
			silence(lab)
			began := time.Now()
			require.ErrorContains(t, lab.client.Close(), `"l"`)
			// One command's limit under the default lease is 3 s, the default timeout 5 s.
			require.Less(t, time.Since(began), 2500*time.Millisecond)
			require.ErrorIs(t, context.Cause(held), rlock.ErrClosed)
			require.ErrorIs(t, unlock(), rlock.ErrClosed)
			require.ErrorIs(t, conductAwait(t, waiter, "the waiter returns"), rlock.ErrClosed)
		})
	}
}

// G11, need 25: Close has joined every goroutine when it returns, and what the application's client has is none
// of its business. Not parallel: it looks at the goroutines of the whole process.
func TestCloseJoinsEveryGoroutine(t *testing.T) {
	server := redistest.Shared(t)
	before := goleak.IgnoreCurrent()
	for range 5 {
		rdb := redis.NewClient(server.Options())
		client, err := rlock.NewClient(rdb, conductQuiet(&rlock.ClientOptions{
			Lease:    300 * time.Millisecond,
			Observer: &rlock.Observer{Renewed: func(rlock.Renewal) {}, Lost: func(*rlock.LostError) {}},
		}))
		require.NoError(t, err)
		name := redistest.Key(t)
		_, _ = conductTake(t, conductCtx(t), rlock.New(client, name, rlock.MaxHold(time.Hour)))
		var waiters sync.WaitGroup
		for range 3 {
			waiters.Go(func() { _, _, _ = rlock.New(client, name).Lock(context.Background()) })
		}
		require.Error(t, client.Close())
		waiters.Wait()
		require.NoError(t, rdb.Close())
	}
	require.NoError(t, goleak.Find(before))
}
