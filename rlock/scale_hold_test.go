package rlock_test

import (
	"context"
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

// alive counts the holds that are still live.
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
// goroutines, in few calls, and cost little memory.
func TestThousandsOfLocksAreKeptTogether(t *testing.T) {
	t.Run("calls", keptInFewCalls)
	t.Run("memory", keptInLittleMemory)
}

// In every third of the lease all locks are renewed, each call being for as many as one script takes.
func keptInFewCalls(t *testing.T) {
	const (
		locks   = 1_000
		period  = 10 * time.Second
		periods = 6
		batch   = 256
	)
	inBubble(t, func(t *testing.T, sim *timeSim) {
		crowd := newScaleCrowd(sim.client(t, rlock.ClientOptions{Lease: 3 * period}), locks)
		require.NoError(t, crowd.lock())
		before := sim.count("renew")
		time.Sleep(periods*period + period/2)
		require.Equal(t, locks, crowd.alive())
		require.Equal(t, periods*((locks+batch-1)/batch), sim.count("renew")-before)
		require.NoError(t, crowd.unlock())
		for _, key := range sim.Miniredis().Keys() {
			require.Contains(t, key, "redisson_lock_token:")
		}
	})
}

// It runs alone, since it counts goroutines and the heap.
func keptInLittleMemory(t *testing.T) {
	const locks = 5_000
	client := timeClient(t, redistest.Start(t).Addr(), rlock.ClientOptions{Lease: time.Hour})
	crowd := newScaleCrowd(client, locks)
	warm := timeLock(t, t.Context(), rlock.New(client, "warm"))
	require.NoError(t, warm.unlock())
	goroutines, heap := runtime.NumGoroutine(), scaleHeap()
	require.NoError(t, crowd.lock())
	perLock := float64(scaleHeap()-heap) / locks
	grown := runtime.NumGoroutine() - goroutines
	t.Logf("%d locks: %.0f B each, and %d goroutines for all", locks, perLock, grown)
	require.Less(t, perLock, 1500.0)
	require.Less(t, grown, 200, "the pool's connections have some each; the locks have none")
	require.NoError(t, crowd.unlock())
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
