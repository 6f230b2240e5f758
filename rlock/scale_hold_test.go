package rlock_test

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/faultproxy"
	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/holdfast-go/holdfast/lua"
	"github.com/holdfast-go/holdfast/rlock"
)

// scaleCrowd is many locks of one client, each held once.
type scaleCrowd struct {
	locks   []*rlock.Lock
	holds   []context.Context
	unlocks []func() error
}

func newScaleCrowd(client *rlock.Client, n int) *scaleCrowd {
	c := &scaleCrowd{
		locks: make([]*rlock.Lock, n), holds: make([]context.Context, n),
		unlocks: make([]func() error, n),
	}
	for i := range n {
		c.locks[i] = rlock.New(client, "scale:"+strconv.Itoa(i))
	}
	return c
}

// each does something with every lock, from a few goroutines.
func (c *scaleCrowd) each(do func(i int) error) error {
	const workers = 16
	errs := make([]error, workers)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < len(c.locks) && errs[w] == nil; i += workers {
				errs[w] = do(i)
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *scaleCrowd) lock() error {
	return c.each(func(i int) (err error) {
		c.holds[i], c.unlocks[i], err = c.locks[i].Lock(context.Background())
		return err
	})
}

func (c *scaleCrowd) unlock() error {
	return c.each(func(i int) error { return c.unlocks[i]() })
}

// alive counts the holds that are still believed in.
func (c *scaleCrowd) alive() (n int) {
	for i, l := range c.locks {
		if _, err := l.Held(c.holds[i]); err == nil && c.holds[i].Err() == nil {
			n++
		}
	}
	return n
}

// scaleHeap is the heap in use when the garbage is gone.
func scaleHeap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// Need 5; the goals in figures, on a moderate scale: thousands of locks are kept by a handful of
// goroutines, in few calls, and cost little memory. It runs alone, since it counts goroutines and the heap.
func TestThousandsOfLocksAreKeptTogether(t *testing.T) {
	const (
		locks  = 5_000
		lease  = 3 * time.Second
		hold   = 8 * time.Second
		period = lease / 3
	)
	server := redistest.Start(t)
	proxy := faultproxy.Start(t, server.Addr()) // counts requests, and only those of the client
	client := timeClient(t, proxy.Addr(), rlock.ClientOptions{Lease: lease})
	crowd := newScaleCrowd(client, locks)
	warm := timeLock(t, t.Context(), rlock.New(client, "warm"))
	require.NoError(t, warm.unlock())

	goroutines, heap := runtime.NumGoroutine(), scaleHeap()
	require.NoError(t, crowd.lock())
	perLock := float64(scaleHeap()-heap) / locks
	grown := runtime.NumGoroutine() - goroutines
	renewed := faultproxy.Script(lua.SHA("renew"))
	before, start := proxy.Requests(renewed), time.Now()
	time.Sleep(hold) // the lapse of time is what is tested
	calls, held := proxy.Requests(renewed)-before, time.Since(start)

	require.Equal(t, locks, crowd.alive())
	single := float64(locks) * float64(held/period)
	t.Logf("%d locks: %.0f B and %d goroutines for all, %d renewal calls where single ones were %.0f",
		locks, perLock, grown, calls, single)
	require.Positive(t, calls)
	require.LessOrEqual(t, float64(calls), single/50)
	require.Less(t, perLock, 1500.0)
	// The pool's connections through the proxy have goroutines of the proxy's: some for each.
	require.Less(t, grown, 200)
	require.NoError(t, crowd.unlock())
	left := server.Keys(t)
	for _, key := range left {
		require.Contains(t, key, "redisson_lock_token:", fmt.Sprintf("of %d keys", len(left)))
	}
}

// The same goal for waiters of one process on one name: they wait on Redis as one (G7).
func TestManyWaitersCostRedisAsMuchAsOne(t *testing.T) {
	lab := newTimeLab(t)
	holder := lab.outside(t, rlock.ClientOptions{})
	client := lab.client(t, rlock.ClientOptions{MaxPoll: time.Hour})
	hold := timeLock(t, t.Context(), rlock.New(holder, "order"))
	lock := rlock.New(client, "order")
	ctx, cancel := context.WithCancel(t.Context())
	const waiters = 500
	ended := make(chan error, waiters)
	for range waiters {
		go func() {
			_, _, err := lock.Lock(ctx)
			ended <- err
		}()
	}
	inspectSees(t, lock, waiters)
	inspectSees(t, rlock.New(holder, "order"), 1) // the first one was answered, and listens
	acquired := faultproxy.Script(lua.SHA("acquire"))
	// Once to learn the script and once the clock, then before and after subscribing.
	require.LessOrEqual(t, lab.proxy.Requests(acquired), 4)
	cancel()
	for range waiters {
		require.ErrorIs(t, timeReceive(t, ended, "a waiter's end"), rlock.ErrBusy)
	}
	require.NoError(t, hold.unlock())
}
