package rlock_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
)

// defect D1: the warning is of a waiter that stood behind one and the same hold for a second. Waiters of a lock
// that goes from hand to hand every few milliseconds are not logged, however long they wait.
func TestHealthyContentionIsNotLogged(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		log := &observerLog{}
		lock := rlock.New(sim.client(t, rlock.ClientOptions{Logger: slog.New(log)}), "hot")
		var all sync.WaitGroup
		for range 500 {
			all.Go(func() {
				err := lock.Do(t.Context(), func(context.Context) error {
					time.Sleep(5 * time.Millisecond)
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		time.Sleep(time.Minute)
		require.Zero(t, log.count())
	})
}

// Defect F24: work that takes longer than a second while others of its process wait is ordinary, as are a hold that is
// ending for long, because Redis does not confirm its release, and one of which Redis does not say that it has it.
func TestOrdinaryWaitsBehindOneHoldAreNotLogged(t *testing.T) {
	t.Parallel()
	for name, work := range map[string]func(sim *timeSim){
		"contention": func(*timeSim) { time.Sleep(1100 * time.Millisecond) },
		"an outage": func(sim *timeSim) {
			sim.Freeze()
			time.Sleep(8 * time.Second)
			sim.Thaw()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				log := &observerLog{}
				lock := rlock.New(sim.client(t, rlock.ClientOptions{Logger: slog.New(log)}), "report")
				var all sync.WaitGroup
				for range 4 {
					all.Go(func() {
						for range 3 {
							err := lock.Do(t.Context(), func(context.Context) error { work(sim); return nil })
							if err != nil {
								t.Error(err)
							}
						}
					})
				}
				all.Wait()
				require.Empty(t, log.with(misuseText))
			})
		})
	}
}

// defect D1: one line for a hold, however many wait behind it.
func TestAHoldThatManyWaitForIsLoggedOnce(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		log := &observerLog{}
		lock := rlock.New(sim.client(t, rlock.ClientOptions{Logger: slog.New(log)}), "stuck")
		for turns := 1; turns <= 2; turns++ {
			hold := timeLock(t, t.Context(), lock)
			id := timeHeld(t, hold.ctx, lock).ID
			ctx, cancel := context.WithCancel(t.Context())
			for range 50 {
				time.Sleep(100 * time.Millisecond)
				go func() { _, _, _ = lock.Lock(ctx) }()
			}
			time.Sleep(10 * time.Second)
			lines := log.with(misuseText)
			require.Len(t, lines, turns)
			require.Equal(t, id, lines[turns-1]["hold"].String())
			cancel()
			synctest.Wait()
			require.NoError(t, hold.unlock())
		}
	})
}
