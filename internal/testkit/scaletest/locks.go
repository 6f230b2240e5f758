// Package scaletest is the lock at scale, in tests of their own binary: thousands of holds, and servers that are far
// away. Those compute more than all other tests of package rlock, beside which they run.
package scaletest

import (
	"context"
	"errors"
	"runtime"
	"strconv"
	"sync"

	"github.com/holdfast-go/holdfast/rlock"
)

// Locks is many locks of one client, each held once.
type Locks struct {
	locks   []*rlock.Lock
	holds   []context.Context
	unlocks []func() error
}

// NewLocks returns n locks of a client, which nobody holds yet.
func NewLocks(client *rlock.Client, n int) *Locks {
	c := &Locks{
		locks: make([]*rlock.Lock, n), holds: make([]context.Context, n),
		unlocks: make([]func() error, n),
	}
	for i := range n {
		c.locks[i] = rlock.New(client, "scale:"+strconv.Itoa(i))
	}
	return c
}

// Lock takes all of them.
func (c *Locks) Lock() error {
	return c.each(func(i int) (err error) {
		c.holds[i], c.unlocks[i], err = c.locks[i].Lock(context.Background())
		return err
	})
}

// Unlock releases all of them.
func (c *Locks) Unlock() error {
	return c.each(func(i int) error { return c.unlocks[i]() })
}

// Alive counts the holds that are still live.
func (c *Locks) Alive() (n int) {
	for i, l := range c.locks {
		if _, err := l.Held(c.holds[i]); err == nil && c.holds[i].Err() == nil {
			n++
		}
	}
	return n
}

// each does something with every lock, from some goroutines, which mostly wait for the network.
func (c *Locks) each(do func(i int) error) error {
	const workers = 200
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
	return errors.Join(errs...)
}

// Heap is the heap in use when the garbage is gone.
func Heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
