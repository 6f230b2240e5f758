package redlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/turns"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// ordinary are the options of a deployment. But the servers vote at once, and none is late because the machine is busy.
func ordinary() redlock.Options {
	o := options(30 * time.Second)
	o.MaxPoll, o.NodeTimeout = 0, 3*time.Second
	return o
}

// Clients that release a lock and want it again at once take turns: no holder gets in again and again before those that
// wait for it (defect F4). Votes that are split make the order looser than with one server.
func TestClientsOfOneGoroutineShare(t *testing.T) {
	t.Parallel()
	l := newLab(t, 5)
	t.Run("all", func(t *testing.T) { // the lab outlives the situations, which run at the same time
		turns.Shared(t, 4, 10, func(_ *testing.T, name string) rlock.Locker {
			lock := redlock.New(l.client(l.direct(), ordinary()), name)
			once(t, lock) // its connections stand
			return lock
		})
	})
}

// A caller that waits for a few seconds gets in beside a client that takes the lock again and again (defect F4).
func TestAShortWaitIsEnoughBesideALoop(t *testing.T) {
	t.Parallel()
	l := newLab(t, 5)
	ctx, stop := context.WithCancel(within(t))
	busy := redlock.New(l.client(l.direct(), ordinary()), "busy")
	once(t, busy)
	done := make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			err = busy.Do(ctx, func(context.Context) error {
				<-time.After(50 * time.Millisecond) // the work
				return nil
			})
		}
		done <- err
	}()
	for range 5 {
		guest := redlock.New(l.client(l.direct(), ordinary()), "busy", rlock.MaxWait(3*time.Second))
		once(t, guest)
	}
	stop()
	require.ErrorIs(t, <-done, context.Canceled)
}
