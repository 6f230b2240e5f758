package rlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

// A set is released as one, though its members are made with Keep.
func TestASetKeepsNoMember(t *testing.T) {
	t.Parallel()
	for name, members := range map[string][]string{"one": {"n"}, "two": {"m", "n"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, sim *timeSim) {
				client := sim.client(t, rlock.ClientOptions{Lease: keepLease})
				for range 2 { // the first token of a name has no others beside it, so a grant with one is not kept
					var locks []*rlock.Lock
					for _, member := range members {
						locks = append(locks, rlock.New(client, member, rlock.Keep(keepFor)))
					}
					held, unlock, err := multilock.New(locks).Lock(t.Context())
					require.NoError(t, err)
					_, err = locks[0].Wanted(held)
					require.ErrorAs(t, err, new(*rlock.ArgumentError), "nobody is asked to let go what is not kept")
					require.NoError(t, unlock())
					require.False(t, sim.holds("n"))
					require.Zero(t, client.Stats().Kept)
					time.Sleep(10 * time.Millisecond)
				}
			})
		})
	}
}
