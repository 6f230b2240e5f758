package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// A waiter that leaves, from any place, leaves the order of the others as it is.
func TestLeavingTheLineKeepsTheOrder(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		leavers []int
	}{
		{"first", []int{0}},
		{"middle", []int{2}},
		{"last", []int{4}},
		{"neighbours", []int{1, 2, 3}},
		{"all", []int{4, 0, 2, 1, 3}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t)
			line := conductLineOn(t, server.Addr(), nil)
			lock := rlock.New(line.Client, redistest.Key(t))
			_, unlock := conductTake(t, conductCtx(t), lock)
			var waiters [5]<-chan conductGrant
			var cancels [5]context.CancelFunc
			for i := range waiters {
				ctx, cancel := context.WithCancel(conductCtx(t))
				cancels[i] = cancel
				waiters[i] = line.join(t, ctx, lock)
			}
			gone := make(map[int]bool)
			for _, i := range test.leavers {
				gone[i] = true
				cancels[i]()
				err := conductAwait(t, waiters[i], "the leaver returns").err
				require.ErrorIs(t, err, rlock.ErrBusy)
				require.ErrorIs(t, err, context.Canceled)
			}
			require.NoError(t, unlock())
			for i, w := range waiters {
				defer cancels[i]()
				if gone[i] {
					continue
				}
				g := line.in(t, w)
				for j := i + 1; j < len(waiters); j++ {
					require.Empty(t, waiters[j], "waiter %d before waiter %d", j, i)
				}
				require.NoError(t, g.unlock())
			}
			_, unlock, err := lock.TryLock(conductCtx(t))
			require.NoError(t, err)
			require.NoError(t, unlock())
		})
	}
}

// G8, interleaving 16: the waiter that is next leaves while the release before it is carried out. It returns at once,
// and another one is next, or nobody.
func TestAWaiterThatLeavesDuringTheReleaseBeforeIt(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		next bool
		how  func(gate *faultproxy.Gate) faultproxy.Action
	}{
		{"before another, reply late", true, faultproxy.HoldReply},
		{"before another, request late", true, faultproxy.HoldRequest},
		{"before nobody, reply late", false, faultproxy.HoldReply},
		{"before nobody, request late", false, faultproxy.HoldRequest},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			proxy := faultproxy.Start(t, server.Addr())
			line := conductLineOn(t, proxy.Addr(), nil)
			lock := rlock.New(line.Client, "l")
			conductWarm(t, line, lock)
			_, unlock := conductTake(t, conductCtx(t), lock)
			ctx, cancel := context.WithCancel(conductCtx(t))
			defer cancel()
			target := line.join(t, ctx, lock)
			var next <-chan conductGrant
			if test.next {
				next = line.join(t, conductCtx(t), lock)
			}
			gate := faultproxy.NewGate()
			held := proxy.On(conductScript("release"), test.how(gate))
			unlocked := make(chan error, 1)
			go func() { unlocked <- unlock() }()
			held.Wait(t, 1)
			cancel()
			err := conductAwait(t, target, "it returns although the release is under way").err
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, rlock.ErrBusy)
			gate.Open()
			if test.next {
				require.NoError(t, line.in(t, next).unlock())
			}
			require.NoError(t, conductAwait(t, unlocked, "unlock returns"))
			redistest.Eventually(t, conductLimit, func() bool {
				return len(conductHeldKeys(t, server)) == 0
			}, "the lock is free: no context says that it is held, and nobody holds it")
			info, err := lock.Inspect(conductCtx(t))
			require.NoError(t, err)
			require.Zero(t, info.Waiters)
		})
	}
}

// Interleaving 16: the reply to a release is lost, and the waiter that is next left. The release is settled before
// another one asks: that one could be told "busy" by a hold that nobody has any more.
func TestAReleaseOfUnknownFateIsSettledBeforeTheNextAsks(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := faultproxy.Start(t, server.Addr())
	line := conductLineOn(t, proxy.Addr(), &rlock.ClientOptions{Lease: 3 * time.Second})
	lock := rlock.New(line.Client, "l")
	conductWarm(t, line, lock)
	before := conductCount(proxy)
	_, unlock := conductTake(t, conductCtx(t), lock)
	ctx, cancel := context.WithCancel(conductCtx(t))
	defer cancel()
	target := line.join(t, ctx, lock)
	next := line.join(t, conductCtx(t), lock)
	lost := proxy.On(conductScript("release"), faultproxy.DropReply)
	unlocked := make(chan error, 1)
	go func() { unlocked <- unlock() }()
	lost.Wait(t, 1)
	cancel()
	require.ErrorIs(t, conductAwait(t, target, "the target returns").err, context.Canceled)
	g := line.in(t, next)
	require.NoError(t, conductAwait(t, unlocked, "unlock returns"))
	require.NoError(t, g.unlock())
	require.Empty(t, conductHeldKeys(t, server))
	sent := conductCount(proxy).since(before)
	require.Equal(t, 2, sent.acquire, "the next asks once")
	require.Equal(t, 3, sent.release, "the first one twice, and nothing had to be reclaimed")
}

// The grant and the end of the context coincide, over and over: whichever wins, no call hangs and
// nothing is left behind.
func TestLeavingAndGrantingAtOneTime(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	line := conductLineOn(t, server.Addr(), nil)
	lock := rlock.New(line.Client, "l")
	left := 0
	for range 150 {
		_, unlock := conductTake(t, conductCtx(t), lock)
		ctx, cancel := context.WithCancel(conductCtx(t))
		first := line.join(t, ctx, lock)
		second := line.join(t, conductCtx(t), lock)
		go cancel()
		require.NoError(t, unlock())
		if g := conductAwait(t, first, "the first returns"); g.err == nil {
			require.NoError(t, g.unlock())
		} else {
			left++
			require.ErrorIs(t, g.err, context.Canceled)
		}
		require.NoError(t, line.in(t, second).unlock())
		cancel()
	}
	t.Logf("%d of 150 left", left)
	redistest.Eventually(t, conductLimit, func() bool {
		return len(conductHeldKeys(t, server)) == 0
	}, "no hold is left")
}

// A caller that stops waiting sends nothing on its way out: an acquisition sent then may take the lock
// for nobody, and others find it busy.
func TestAWaiterThatLeavesSendsNothingMore(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := faultproxy.Start(t, server.Addr())
	holder := conductClient(t, server.Addr(), nil)
	_, unlock := conductTake(t, conductCtx(t), rlock.New(holder, "l"))
	client := conductClient(t, proxy.Addr(), &rlock.ClientOptions{MaxPoll: time.Hour})
	ctx, cancel := context.WithCancel(conductCtx(t))
	left := make(chan error, 1)
	go func() {
		_, _, err := rlock.New(client, "l").Lock(ctx)
		left <- err
	}()
	// The first attempt learns the server's clock, the second is busy, the third follows the
	// subscription; with the lease and the poll far away nothing else makes it try.
	redistest.Eventually(t, conductLimit, func() bool {
		return proxy.Requests(conductScript("acquire")) == 3 && len(server.PubSubChannels(t)) == 1
	}, "the waiter is at rest")
	before := proxy.Requests(conductScript("acquire"))
	cancel()
	require.ErrorIs(t, conductAwait(t, left, "the waiter returns"), context.Canceled)
	require.NoError(t, unlock())
	require.NoError(t, client.Close()) // joins whatever it may have started
	require.Equal(t, before, proxy.Requests(conductScript("acquire")))
	require.Empty(t, conductHeldKeys(t, server))
}
