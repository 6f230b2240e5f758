package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
)

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A holder learns that another caller waits, wherever that one is, and the next holder learns it anew.
func TestWanted(t *testing.T) {
	t.Parallel()
	for name, far := range map[string]bool{"in this process": false, "in another process": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				client := sim.client(t, rlock.ClientOptions{Lease: keepLease})
				lock, other := rlock.New(client, "n", rlock.Yields()), rlock.New(client, "n", rlock.Yields())
				if far {
					other = rlock.New(sim.client(t, rlock.ClientOptions{Lease: keepLease}), "n")
				}
				first := timeLock(t, t.Context(), lock)
				time.Sleep(time.Second)
				wanted, err := lock.Wanted(first.ctx)
				require.NoError(t, err)
				again, err := lock.Wanted(first.ctx)
				require.NoError(t, err)
				require.Equal(t, wanted, again)
				require.False(t, isClosed(wanted))

				got := make(chan timeHold, 1)
				go func() { got <- timeLock(t, t.Context(), other) }()
				time.Sleep(20 * time.Millisecond)
				require.True(t, isClosed(wanted))
				late, err := lock.Wanted(first.ctx)
				require.NoError(t, err)
				require.True(t, isClosed(late))
				require.NoError(t, first.ctx.Err(), "nothing ends the hold")
				require.NoError(t, first.unlock())
				_, err = lock.Wanted(first.ctx)
				require.ErrorIs(t, err, rlock.ErrNotHeld)

				second := timeReceive(t, got, "the lock")
				if !far {
					wanted, err = other.Wanted(second.ctx)
					require.NoError(t, err)
					require.False(t, isClosed(wanted), "nobody waits now")
				}
				require.NoError(t, second.unlock())
			})
		})
	}
}

// A TryLock elsewhere counts too, and a lost message is made good by the waiter's next poll.
func TestWantedIsSaidAgain(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client := sim.client(t, rlock.ClientOptions{Lease: keepLease})
		other := rlock.New(sim.client(t, rlock.ClientOptions{Lease: keepLease, MaxPoll: 2 * time.Second}), "n")
		lock := rlock.New(client, "n", rlock.Yields())
		hold := timeLock(t, t.Context(), lock)
		wanted, err := lock.Wanted(hold.ctx)
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		sim.CutAll() // the subscription of the holder among them, which comes back by itself
		waiting := make(chan error, 1)
		go func() {
			_, _, err := other.Lock(ctx)
			waiting <- err
		}()
		time.Sleep(5 * time.Second)
		require.True(t, isClosed(wanted))
		cancel()
		require.ErrorIs(t, <-waiting, rlock.ErrBusy)
		require.NoError(t, hold.unlock())

		hold = timeLock(t, t.Context(), lock)
		wanted, err = lock.Wanted(hold.ctx)
		require.NoError(t, err)
		require.False(t, isClosed(wanted))
		_, _, err = other.TryLock(t.Context())
		require.ErrorIs(t, err, rlock.ErrBusy)
		time.Sleep(time.Millisecond)
		require.True(t, isClosed(wanted))
		require.NoError(t, hold.unlock())
	})
}

func TestWantedArguments(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client := sim.client(t, rlock.ClientOptions{Lease: keepLease})
		lock := rlock.New(client, "n", rlock.Yields())
		_, err := lock.Wanted(t.Context())
		require.ErrorIs(t, err, rlock.ErrNotHeld)
		hold := timeLock(t, t.Context(), rlock.New(client, "n"))
		_, err = lock.Wanted(hold.ctx)
		var bad *rlock.ArgumentError
		require.ErrorAs(t, err, &bad)
		require.NoError(t, hold.unlock())
	})
}

// A hold that came by Import is told that others wait, as one that came by Lock (defect G9).
func TestAnImportedHoldIsWanted(t *testing.T) {
	t.Parallel()
	for name, option := range map[string]rlock.Option{"Yields": rlock.Yields(), "Keep": rlock.Keep(keepFor)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				from := rlock.New(sim.client(t, rlock.ClientOptions{Lease: keepLease}), "n")
				token, err := from.Export(timeLock(t, t.Context(), from).ctx)
				require.NoError(t, err)
				lock := rlock.New(sim.client(t, rlock.ClientOptions{Lease: keepLease}), "n", option)
				held, unlock, err := lock.Import(t.Context(), token)
				require.NoError(t, err)
				wanted, err := lock.Wanted(held)
				require.NoError(t, err)
				time.Sleep(50 * time.Millisecond)
				require.False(t, isClosed(wanted))
				_, _, err = from.TryLock(t.Context())
				require.ErrorIs(t, err, rlock.ErrBusy)
				time.Sleep(time.Millisecond)
				require.True(t, isClosed(wanted))
				require.NoError(t, unlock())
				require.False(t, sim.holds("n"))
			})
		})
	}
}
