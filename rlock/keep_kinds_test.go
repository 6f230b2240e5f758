package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

// Whatever kind of lock another process asks for, and in whatever way, an idle lock is released for it as soon as its
// keeper has heard of that (defect G43).
func TestAnIdleLockIsGivenToEveryKind(t *testing.T) {
	t.Parallel()
	type taken func(ctx context.Context) (context.Context, func() error, error)
	set := func(client *rlock.Client) *multilock.Lock {
		return multilock.New([]*rlock.Lock{rlock.New(client, "n"), rlock.New(client, "free"), rlock.New(client, "o"),
			rlock.New(client, "p")})
	}
	for name, take := range map[string]func(*rlock.Client) taken{
		"fairlock Lock":    func(client *rlock.Client) taken { return fairlock.New(client, "n").Lock },
		"fairlock TryLock": func(client *rlock.Client) taken { return fairlock.New(client, "n").TryLock },
		"set Lock":         func(client *rlock.Client) taken { return set(client).Lock },
		"set TryLock":      func(client *rlock.Client) taken { return set(client).TryLock },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				client, _ := warmKept(t, sim, keepFor)
				for _, also := range []string{"o", "p"} {
					for range 2 {
						require.NoError(t, timeLock(t, t.Context(), rlock.New(client, also, rlock.Keep(keepFor))).unlock())
						time.Sleep(10 * time.Millisecond)
					}
				}
				time.Sleep(50 * time.Millisecond)
				require.Equal(t, 3, client.Stats().Kept)
				other := sim.client(t, rlock.ClientOptions{Lease: keepLease})
				began := time.Now()
				_, unlock, err := take(other)(t.Context())
				require.NoError(t, err)
				require.Less(t, time.Since(began), 50*time.Millisecond)
				require.NoError(t, unlock())
			})
		})
	}
}

// A TryLock of a set asks no more often than it has members, if their holders do not release them (defect G43).
func TestATryOfASetEndsWhereLocksAreHeld(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, sim *timeSim) {
		client, kept := warmKept(t, sim, keepFor)
		hold := timeLock(t, t.Context(), kept)
		other := sim.client(t, rlock.ClientOptions{Lease: keepLease})
		asked := sim.count("acquire_all")
		_, _, err := multilock.New([]*rlock.Lock{rlock.New(other, "m"), rlock.New(other, "n")}).TryLock(t.Context())
		require.ErrorIs(t, err, rlock.ErrBusy)
		require.Equal(t, asked+2, sim.count("acquire_all"))
		require.NoError(t, hold.unlock())
		require.Zero(t, client.Stats().Kept)
	})
}
