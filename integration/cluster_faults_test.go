package integration_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// G9: a node that is down, or does not answer, must not delay the renewal of locks on the other
// nodes. Its own locks are reported lost before their validity ends (G2).
func TestADeadNodeDisturbsOnlyItsOwnLocks(t *testing.T) {
	for name, fault := range map[string]func(*redistest.Server){
		"killed": (*redistest.Server).Kill, "frozen": (*redistest.Server).Stop,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const lease, each = 1800 * time.Millisecond, 20
			lab := redistest.Cluster(t, 3, redistest.WithArgs("--cluster-require-full-coverage", "no"))
			client, events := newClient(t, lab.Client(t), rlock.ClientOptions{
				Lease: lease, ReleaseTimeout: time.Second,
			})
			var living, dying []*rlock.Lock
			ctxs := make(map[string]context.Context)
			unlocks := make(map[string]func() error)
			for node := range lab.Len() {
				for i := range each {
					lock := rlock.New(client, tagged(t, lab, node, string(rune('a'+i))))
					ctxs[lock.Name()], unlocks[lock.Name()] = held(t, lock)
					if node == 0 {
						dying = append(dying, lock)
					} else {
						living = append(living, lock)
					}
				}
			}
			var names []string
			for _, lock := range living {
				names = append(names, lock.Name())
			}
			for _, lock := range dying {
				names = append(names, lock.Name())
			}
			events.renewedAgain(t, 1, names...)
			names = names[:len(living)]
			fault(lab.Node(0))
			for _, lock := range dying {
				expires(t, ctxs[lock.Name()])
			}
			events.renewedAgain(t, 6, names...)
			for _, lock := range living {
				require.Empty(t, events.failures(lock.Name()), "a renewal of a healthy node failed")
				alive(t, lock, ctxs[lock.Name()])
				require.Less(t, longestGap(events, lock.Name()), lease*2/3,
					"a renewal came a whole period late")
			}
			// And work goes on there: hand over, take anew.
			for _, lock := range living {
				require.NoError(t, unlocks[lock.Name()]())
				_, unlock := held(t, lock)
				require.NoError(t, unlock())
			}
			for _, lock := range dying {
				err := unlocks[lock.Name()]()
				require.True(t, errors.Is(err, rlock.ErrLost), "%v", err)
			}
			require.Len(t, events.losses(), each)
		})
	}
}

// expires waits until a hold is reported lost because its validity has ended.
func expires(t testing.TB, ctx context.Context) {
	t.Helper()
	redistest.Receive(t, limit, ctx.Done(), "a lock of the dead node is valid")
	var lost *rlock.LostError
	require.ErrorAs(t, context.Cause(ctx), &lost)
	require.Equal(t, rlock.LossExpired, lost.Reason)
}

// The connections for renewal are made when they are first needed, and so is their map of the slots,
// for which any node may be asked. A frozen one must not cost the holds of the others their renewal.
func TestTheFirstRenewalDoesNotAskAFrozenNode(t *testing.T) {
	t.Parallel()
	const lease, clients = 3 * time.Second, 8
	lab := redistest.Cluster(t, 3)
	name := tagged(t, lab, 1, "a")
	var all []*events
	var locks []*rlock.Lock
	for i := range clients {
		client, events := newClient(t, lab.Client(t), rlock.ClientOptions{
			Lease: lease, Prefix: fmt.Sprintf("%d:{%s}:", i, name),
		})
		all, locks = append(all, events), append(locks, rlock.New(client, name))
	}
	var ctxs []context.Context
	for _, lock := range locks {
		ctx, unlock := held(t, lock)
		ctxs = append(ctxs, ctx)
		defer func() { require.NoError(t, unlock()) }()
	}
	lab.Node(0).Stop()
	for i, events := range all {
		redistest.Eventually(t, limit, func() bool { return events.renewals(name) > 0 }, "not renewed")
		require.Empty(t, events.failures(name))
		alive(t, locks[i], ctxs[i])
	}
}

// longestGap is the longest time between two renewals of a lock.
func longestGap(e *events, name string) time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	var longest time.Duration
	times := e.renewed[name]
	for i := 1; i < len(times); i++ {
		longest = max(longest, times[i].Sub(times[i-1]))
	}
	return longest
}

// G5: a hold that could not be released is released when the node is back.
func TestALockOfAFrozenNodeIsReleasedWhenItThaws(t *testing.T) {
	t.Parallel()
	lab := redistest.Cluster(t, 2)
	client, _ := newClient(t, lab.Client(t), rlock.ClientOptions{ReleaseTimeout: 300 * time.Millisecond})
	lock := rlock.New(client, tagged(t, lab, 0, "a"))
	_, unlock := held(t, lock)
	lab.Node(0).Stop()
	require.ErrorIs(t, unlock(), rlock.ErrUnconfirmed)
	lab.Node(0).Continue()
	redistest.Eventually(t, limit, func() bool { return !exists(t, lab.Node(0), lock.Name()) },
		"the hold of a 30 s lease was left to its lease")
	_, unlock = held(t, lock)
	require.NoError(t, unlock())
}
