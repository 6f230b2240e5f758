package multilock_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

// outcome is what came of a Lock in a goroutine.
type outcome struct {
	held   context.Context
	unlock func() error
	err    error
}

// lockBeside locks in a goroutine.
func lockBeside(ctx context.Context, m *multilock.Lock) <-chan outcome {
	c := make(chan outcome, 1)
	go func() {
		held, unlock, err := m.Lock(ctx)
		c <- outcome{held, unlock, err}
	}()
	return c
}

// MaxWait bounds the call although a node does not answer at all; the limits of its commands would add up
// to nine seconds.
func TestMaxWaitThoughANodeHangs(t *testing.T) {
	t.Parallel()
	one, other := redistest.Shared(t), redistest.Start(t)
	a, b, n := clientAt(t, one.Addr(), nil), clientAt(t, other.Addr(), nil), names(t, 2)
	slices.Sort(n)
	all := []*rlock.Lock{rlock.New(a, n[0]), rlock.New(b, n[1])}
	require.NoError(t, multilock.New(all).Do(within(t), func(context.Context) error { return nil }))
	other.Stop()
	defer other.Continue()
	began := time.Now()
	_, _, err := multilock.New(all, rlock.MaxWait(200*time.Millisecond)).Lock(within(t))
	took := time.Since(began)
	require.ErrorIs(t, err, rlock.ErrUnavailable)
	require.Less(t, took, 4*time.Second)
	free(t, clientAt(t, one.Addr(), nil), n[0])
}

// A call that is cancelled returns, though the node that a member has to be given back to hangs.
func TestCancelledThoughANodeHangs(t *testing.T) {
	t.Parallel()
	one, other := redistest.Start(t), redistest.Shared(t)
	proxy, gate := faultproxy.Start(t, other.Addr()), faultproxy.NewGate()
	a, b, n := clientAt(t, one.Addr(), nil), clientAt(t, proxy.Addr(), nil), names(t, 2)
	slices.Sort(n)
	all := []*rlock.Lock{rlock.New(a, n[0]), rlock.New(b, n[1])}
	require.NoError(t, multilock.New(all).Do(within(t), func(context.Context) error { return nil }))
	asked := proxy.On(faultproxy.Script(luacall.SHA("acquire")), faultproxy.HoldReply(gate))
	ctx, cancel := context.WithCancel(within(t))
	defer cancel()
	got := lockBeside(ctx, multilock.New(all))
	asked.Wait(t, 1)
	one.Stop()
	cancel()
	began := time.Now()
	o := <-got
	took := time.Since(began)
	one.Continue()
	gate.Open()
	require.ErrorIs(t, o.err, context.Canceled)
	require.Less(t, took, 3*time.Second)
	free(t, clientAt(t, one.Addr(), nil), n[0])
	free(t, clientAt(t, other.Addr(), nil), n[1])
}

// A wait that ends between two attempts, when nothing is held and nothing asked, ends as one that was busy:
// that is the last that was heard.
func TestAWaitThatEndsInAPause(t *testing.T) {
	t.Parallel()
	one, other := redistest.Shared(t), redistest.Start(t)
	a, b, n := clientAt(t, one.Addr(), nil), clientAt(t, other.Addr(), nil), names(t, 2)
	slices.Sort(n)
	rival := clientAt(t, other.Addr(), nil)
	all := []*rlock.Lock{rlock.New(a, n[0]), rlock.New(b, n[1])}
	_, unlock, err := rlock.New(rival, n[1]).Lock(within(t))
	require.NoError(t, err)
	_, _, err = multilock.New(all).TryLock(within(t)) // which loads the scripts
	require.ErrorIs(t, err, rlock.ErrBusy)
	busy := 0
	for range 40 {
		ctx, cancel := context.WithCancel(within(t))
		before := other.Calls(t, "evalsha")
		got := lockBeside(ctx, multilock.New(all))
		for other.Calls(t, "evalsha") == before { // then it is told that it is busy, and pauses
			require.NoError(t, ctx.Err())
		}
		cancel()
		o := <-got
		require.ErrorIs(t, o.err, context.Canceled)
		if !errors.Is(o.err, rlock.ErrBusy) {
			continue // it was cancelled before it asked, when a late release of the call before was counted, or heard
		}
		busy++
	}
	require.Positive(t, busy)
	for i := range 40 {
		_, _, err := multilock.New(all, rlock.MaxWait(time.Duration(10+i)*100*time.Microsecond)).Lock(within(t))
		if !errors.Is(err, rlock.ErrUnavailable) {
			require.ErrorIs(t, err, rlock.ErrBusy)
		} // else the wait ended before either had answered
	}
	require.NoError(t, unlock())
}

// The answer for one name counts if the wait ends before the caller's turn in another queue.
func TestAWaitThatEndsOnItsWayToAnotherLine(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	proxy, gate := faultproxy.Start(t, server.Addr()), faultproxy.NewGate()
	c, rival, n := clientAt(t, proxy.Addr(), nil), clientAt(t, server.Addr(), nil), names(t, 2)
	slices.Sort(n)
	free(t, c, n...)
	_, unlock, err := rlock.New(rival, n[1]).Lock(within(t))
	require.NoError(t, err)
	// The first answer is that the second name is busy; the second answer does not come.
	proxy.On(faultproxy.Nth(2, faultproxy.Script(luacall.SHA("acquire_all"))), faultproxy.HoldReply(gate))
	_, _, err = multilock.New(locks(c, n...), rlock.MaxWait(300*time.Millisecond)).Lock(within(t))
	require.ErrorIs(t, err, rlock.ErrBusy)
	gate.Open()
	require.NoError(t, unlock())
	free(t, rival, n...)
}

// Unlock takes the release timeout, however many names and waiters there are.
func TestUnlockThoughTheNodeHangs(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	c := clientAt(t, server.Addr(), &rlock.ClientOptions{ReleaseTimeout: time.Second})
	n := names(t, 5)
	_, unlock, err := multilock.New(locks(c, n...)).Lock(within(t))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(within(t))
	var heirs sync.WaitGroup
	for _, l := range locks(c, n...) {
		heirs.Go(func() {
			if _, unlock, err := l.Lock(ctx); err == nil {
				_ = unlock()
			}
		})
		waits(t, l)
	}
	server.Stop()
	began := time.Now()
	err = unlock()
	took := time.Since(began)
	server.Continue()
	cancel()
	heirs.Wait()
	require.ErrorIs(t, err, rlock.ErrUnconfirmed)
	require.Less(t, took, 3*time.Second)
	free(t, clientAt(t, server.Addr(), nil), n...)
}
