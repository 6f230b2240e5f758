package pglock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/turns"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/pglock"
)

// Again and again a lock goes from one client to another. Nobody polls, and no lease ends: one wake-up that is lost, as
// where a waiter looks and then says that it listens in two steps, and the rest of the turns is never had.
func TestNoWakeUpIsLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ clients, goroutines, handovers int }{{2, 1, 200}, {4, 1, 200}, {3, 8, 40}} {
		t.Run(fmt.Sprintf("%d clients of %d", c.clients, c.goroutines), func(t *testing.T) {
			t.Parallel()
			of, ctx, r := database(t), within(t), new(relay)
			var all sync.WaitGroup
			for who := range c.clients {
				l := forLong(client(t, pool(t, of), unpolled), "a")
				for range c.goroutines {
					all.Go(func() {
						for r.handovers.Load() < int64(c.handovers) && !t.Failed() {
							if err := r.turn(ctx, l, int64(who+1)); err != nil {
								t.Errorf("after %d turns and %d hand-overs: %v", r.turns.Load(), r.handovers.Load(), err)
							}
						}
					})
				}
			}
			all.Wait()
			t.Logf("%d of %d turns came from another client", r.handovers.Load(), r.turns.Load())
		})
	}
}

// relay is a lock that clients hand to one another.
type relay struct {
	inside, last, fence atomic.Int64
	turns, handovers    atomic.Int64
}

// turn takes the lock, looks, and gives it back.
func (r *relay) turn(ctx context.Context, l *lock.Lock, who int64) error {
	held, unlock, err := l.Lock(ctx)
	if err != nil {
		return err
	}
	if r.inside.Add(1) != 1 {
		err = errors.New("two are inside")
	}
	r.turns.Add(1)
	if r.last.Swap(who) != who {
		r.handovers.Add(1)
	}
	hold, lost := l.Held(held)
	if before := r.fence.Swap(hold.Fence); before >= hold.Fence {
		err = fmt.Errorf("token %d after %d", hold.Fence, before)
	}
	r.inside.Add(-1)
	return errors.Join(err, lost, unlock())
}

// One goroutine per process is the usual pod: each has a fair share. A wait may be longer than on Redis: a hand-over takes
// several milliseconds, and a process that has just released leaves the others no more than that. On a busy machine
// chance alone decides then who is next. Of 60 turns of four clients it gives one client more than three times the turns
// of another in one run of a thousand, and of 24 it gave one more than twice the turns of another in one of four.
//
// The clients have their connections when they begin, also those by which they hear of releases: a busy server takes as
// long for one as for twenty turns.
func TestClientsShare(t *testing.T) {
	of := database(t)
	other := client(t, pool(t, of), pglock.Options{})
	turns.Shared(t, 3, 12, func(t *testing.T, name string) lock.Locker {
		c, before := client(t, pool(t, of), pglock.Options{}), fmt.Sprintf("%s before %016x", name, rand.Uint64())
		_, unlock := take(t, within(t), forLong(other, before))
		got := waiter(t, c.Lock(before))
		listens(t, of, before)
		require.NoError(t, unlock())
		require.NoError(t, await(t, got, before))
		return c.Lock(name)
	})
}
