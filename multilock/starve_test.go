package multilock_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/testkit/opendefect"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

// defect B15: a multilock of two fair locks that others keep busy never has both. When it reaches the head of one
// queue it tries the other lock, where others are before it, and gives its turn back, because a waiter holds nothing.
func TestFairLocksThatOthersKeepBusy(t *testing.T) {
	t.Parallel()
	opendefect.Shows(t, "B15", `^0 turns .* after it gave back 10 locks`, func() error {
		server, n := redistest.Start(t), names(t, 2)
		ctx, stop := context.WithCancel(within(t))
		defer stop()
		var all sync.WaitGroup
		defer all.Wait()
		defer stop()
		for _, name := range n {
			keepBusy(ctx, t, &all, server.Addr(), name)
		}
		var turns, single atomic.Int32
		enough := make(chan struct{})
		c := clientAt(t, server.Addr(), &rlock.ClientOptions{Observer: &rlock.Observer{
			// Not of both: that would be a turn, after which there is nothing to count.
			Command: func(c rlock.Command) {
				if c.Script == "fair_release" && single.Add(1) == 10 {
					close(enough)
				}
			},
		}})
		m := multilock.New([]*rlock.Lock{fairlock.New(c, n[0]), fairlock.New(c, n[1])})
		all.Go(func() {
			if _, unlock, err := m.Lock(ctx); err == nil {
				turns.Add(1)
				_ = unlock()
				stop()
			}
		})
		select {
		case <-enough:
		case <-ctx.Done():
		}
		stop()
		all.Wait()
		if turns.Load() > 0 {
			return nil
		}
		return fmt.Errorf("%d turns for the multilock after it gave back %d locks", turns.Load(), single.Load())
	})
}

// keepBusy has two clients lock a name in turn, each of which unlocks only when the other one is in the queue.
func keepBusy(ctx context.Context, t *testing.T, all *sync.WaitGroup, addr, name string) {
	t.Helper()
	rivals := []*rlock.Lock{
		fairlock.New(clientAt(t, addr, nil), name), fairlock.New(clientAt(t, addr, nil), name),
	}
	inQueue := func(w rlock.Waiter) bool { return w.Mine }
	for i, mine := range rivals {
		all.Go(func() {
			for ctx.Err() == nil {
				_, unlock, err := mine.Lock(ctx)
				for waiting := false; err == nil && !waiting && ctx.Err() == nil; {
					info, _ := rivals[1-i].Inspect(ctx)
					waiting = slices.ContainsFunc(info.Queue, inQueue)
				}
				_ = unlock()
			}
		})
	}
	redistest.Eventually(t, patience, func() bool {
		info, err := rivals[0].Inspect(ctx)
		return err == nil && len(info.Queue) > 0
	}, "one should wait for the other")
}
