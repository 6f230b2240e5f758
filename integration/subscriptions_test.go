package integration_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// The poll interval exceeds the test: after the migration only a message can wake.
func TestSubscriptionsFollowTheirSlot(t *testing.T) {
	t.Parallel()
	lab := redistest.Cluster(t, 2)
	client, clock := newClient(t, lab.Client(t), rlock.ClientOptions{Lease: migrationLease})
	waiter, events := newClient(t, lab.Client(t), rlock.ClientOptions{MaxPoll: never})
	m := beginMove(t, lab, "slot")
	moving, resting := m.name("a"), tagged(t, lab, m.from, "rest")
	var unlocks []func() error
	var waits []<-chan outcome
	for _, name := range []string{moving, resting} {
		// A lease that outlives the test keeps the holder's PTTL from waking the waiter.
		_, unlock := held(t, rlock.New(client, name, rlock.FixedLease(time.Hour)))
		unlocks = append(unlocks, unlock)
		waits = append(waits, waiting(t, events, rlock.New(waiter, name)))
		subscribed(t, lab.Node(m.from), name)
	}
	m.start(t)
	m.finish(t)
	if major, _ := lab.Node(0).Version(); major >= 7 {
		subscribed(t, lab.Node(m.to), moving)
	} // before, messages are plain ones, which reach every node: nothing has to move
	subscribed(t, lab.Node(m.from), resting)
	// Each is where it belongs by now: a connection that tried both in one place would be refused, rebuilt, and
	// refused again.
	_, unlock := held(t, rlock.New(client, "clock"))
	redistest.Eventually(t, limit, func() bool { return wanted(t, lab) }, "the holder listens to hear of breaks")
	clock.renewedAgain(t, 1, "clock")
	before := subscriptions(t, lab)
	clock.renewedAgain(t, 4, "clock")
	require.Equal(t, before, subscriptions(t, lab), "subscribed over and over")
	require.NoError(t, unlock())
	for i, unlock := range unlocks {
		select {
		case o := <-waits[i]:
			require.Fail(t, "got in too early", "%v", o.err)
		default:
		}
		require.NoError(t, unlock())
		require.NoError(t, arrives(t, waits[i]).unlock())
	}
}

// wanted reports that a client listens to hear who wants its locks, and who breaks them.
func wanted(t testing.TB, lab *redistest.ClusterLab) (listens bool) {
	t.Helper()
	for i := range lab.Len() {
		channels, err := lab.Node(i).Client(t).PubSubChannels(t.Context(), "holdfast_wanted:*").Result()
		require.NoError(t, err)
		listens = listens || len(channels) > 0
	}
	return listens
}

// subscriptions counts the subscriptions that the nodes of a cluster were asked for so far.
func subscriptions(t testing.TB, lab *redistest.ClusterLab) (n int64) {
	t.Helper()
	for i := range lab.Len() {
		n += lab.Node(i).Calls(t, "subscribe") + lab.Node(i).Calls(t, "ssubscribe")
	}
	return n
}

// Interleaving 18: go-redis resubscribes channels of two slots in one command, which a cluster refuses,
// and says nothing. Both waiters must still be woken after their connection was killed.
func TestKilledSubscribersOfTwoSlotsAreStillWoken(t *testing.T) {
	t.Parallel()
	lab := redistest.Cluster(t, 2)
	client, _ := newClient(t, lab.Client(t), rlock.ClientOptions{})
	waiter, events := newClient(t, lab.Client(t), rlock.ClientOptions{MaxPoll: never})
	names := []string{tagged(t, lab, 0, "a"), tagged(t, lab, 0, "b"), tagged(t, lab, 0, "c")}
	require.NotEqual(t, keys.Slot(names[0]), keys.Slot(names[1]))
	admin := lab.Node(0).Client(t)
	for round := range 3 {
		var unlocks []func() error
		var waits []<-chan outcome
		for _, name := range names {
			_, unlock := held(t, rlock.New(client, name, rlock.FixedLease(time.Hour)))
			unlocks = append(unlocks, unlock)
			waits = append(waits, waiting(t, events, rlock.New(waiter, name)))
			subscribed(t, lab.Node(0), name)
		}
		killed, err := admin.ClientKillByFilter(context.Background(), "type", "pubsub").Result()
		require.NoError(t, err)
		require.EqualValues(t, 1, killed, "one connection for all slots of a node")
		for _, name := range names {
			subscribed(t, lab.Node(0), name)
		}
		for i, unlock := range unlocks {
			require.NoError(t, unlock(), "round %d", round)
			require.NoError(t, arrives(t, waits[i]).unlock())
		}
	}
}
