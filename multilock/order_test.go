package multilock_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

// need 16, bug 41: opposite orders neither deadlock nor keep one another from getting anywhere, by one
// script, over several nodes, and mixed with locks that are taken alone.
func TestOppositeOrders(t *testing.T) {
	t.Parallel()
	one, other := redistest.Shared(t), redistest.Start(t)
	for name, nodes := range map[string][]string{
		"one node":  {one.Addr(), one.Addr()},
		"two nodes": {one.Addr(), other.Addr()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := names(t, 3)
			const callers, turns = 6, 15
			inside := make([]atomic.Int32, len(n))
			var wg sync.WaitGroup
			for caller := range callers {
				a, b := clientAt(t, nodes[0], nil), clientAt(t, nodes[1], nil)
				if nodes[0] == nodes[1] {
					b = a
				}
				all := []*rlock.Lock{rlock.New(a, n[0]), rlock.New(b, n[1]), rlock.New(a, n[2])}
				if caller%2 == 1 {
					slices.Reverse(all)
				}
				wg.Go(func() {
					for range turns {
						turn(t, inside, all, caller)
					}
				})
			}
			wg.Wait()
			for i := range inside {
				require.Zero(t, inside[i].Load())
			}
		})
	}
}

// turn takes all, or a single one, and checks that nobody else is inside of any that it took.
func turn(t *testing.T, inside []atomic.Int32, all []*rlock.Lock, caller int) {
	enter := func(l *rlock.Lock) *atomic.Int32 {
		return &inside[l.Name()[len(l.Name())-1]-'a']
	}
	subset := slices.Clone(all)
	if caller%3 == 2 {
		i := rand.IntN(len(all))
		subset = all[i : i+1]
	}
	err := multilock.New(subset).Do(within(t), func(context.Context) error {
		for _, l := range subset {
			if enter(l).Add(1) != 1 {
				t.Error("two are inside of " + l.Name())
			}
		}
		time.Sleep(time.Duration(rand.IntN(500)) * time.Microsecond)
		for _, l := range subset {
			enter(l).Add(-1)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// A hold is not handed to a multilock that waits in the same process: it would hold one name and wait for
// another. It is released, and the multilock tries all.
func TestNeverHandedAHold(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	ctx, c, rival := within(t), clientAt(t, server.Addr(), nil), clientAt(t, server.Addr(), nil)
	n := names(t, 2)
	first, second := rlock.New(c, n[0]), rlock.New(rival, n[1])
	_, unlockFirst, err := first.Lock(ctx)
	require.NoError(t, err)
	_, unlockSecond, err := second.Lock(ctx)
	require.NoError(t, err)
	entered := make(chan error, 1)
	go func() {
		entered <- multilock.New(locks(c, n...)).Do(ctx, func(context.Context) error { return nil })
	}()
	waits(t, first)
	require.NoError(t, unlockFirst())
	waits(t, rlock.New(c, n[1])) // it stands behind the other one now
	free(t, rival, n[0])
	require.NoError(t, unlockSecond())
	require.NoError(t, <-entered)
}

// Single waiters of the same process pass and are passed, and everybody gets in.
func TestSinglesAndSetsOfOneProcess(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	c := clientAt(t, server.Addr(), nil)
	n := names(t, 4)
	all := locks(c, n...)
	inside := make([]atomic.Int32, len(n))
	var wg sync.WaitGroup
	for caller := range 12 {
		wg.Go(func() {
			for range 25 {
				turn(t, inside, all[caller%2:caller%2+3], caller)
			}
		})
	}
	wg.Wait()
	free(t, clientAt(t, server.Addr(), nil), n...)
}
