package memstore_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/rlock"
)

// A TryLock that is refused because of somebody who does not know of the queue listens to nobody: it does not wait.
func TestATryListensToNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := memstore.NewServer(nil)
		defer server.Close()
		stranger, _ := open(t, server, 0, true, minute)
		client, _ := open(t, server, 1, true, minute)
		_, unlock, err := rlock.New(stranger, "a").Lock(t.Context())
		require.NoError(t, err)
		_, _, err = fairlock.New(client, "a").TryLock(t.Context())
		require.ErrorIs(t, err, rlock.ErrBusy)
		require.NoError(t, unlock())
		time.Sleep(minute)
		require.Empty(t, server.Left())
	})
}

// adopting is a network on which adoptions, of which an export is one, take their time.
type adopting time.Duration

func (a adopting) Fate(of memstore.Request) (fate memstore.Fate) {
	if of.Kind == memstore.Adopt {
		fate.Before = time.Duration(a)
	}
	return fate
}

// An export that finds its hold gone takes away the place of the waiter that the hold was passed on to: nobody else
// would, and the lock would be given to that place time and again.
func TestAnExportOfAHoldThatIsGoneLeavesNoPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const trip = 100 * time.Millisecond
		server := memstore.NewServer(adopting(trip))
		defer server.Close()
		client, _ := open(t, server, 0, true, minute)
		other, _ := open(t, server, 1, true, minute)
		lock, breaks := fairlock.New(client, "a"), fairlock.New(other, "a")
		_, unlock, err := breaks.Lock(t.Context())
		require.NoError(t, err)
		var held [2]context.Context
		var unlocks [2]func() error
		for i := range held {
			go func() { held[i], unlocks[i], _ = lock.Lock(t.Context()) }()
			synctest.Wait() // it has its place
		}
		time.Sleep(trip) // for some tokens to spare
		require.NoError(t, unlock())
		synctest.Wait()
		require.NoError(t, unlocks[0]())
		synctest.Wait()
		require.NoError(t, held[1].Err())
		require.Regexp(t, `the queue of "a": \[\{.*:2 `, server.Left(), "it was passed on to in memory, and its place stands")

		time.AfterFunc(trip/2, func() { _ = breaks.Break(context.Background()) })
		_, err = lock.Export(held[1])
		require.ErrorIs(t, err, rlock.ErrLost)
		time.Sleep(minute)
		require.Empty(t, server.Left())
	})
}

// queueing is a network on which a waiter's way into a queue takes its time.
type queueing time.Duration

func (q queueing) Fate(of memstore.Request) (fate memstore.Fate) {
	if of.Kind == memstore.Acquire || of.Kind == memstore.Enqueue {
		fate.Before = time.Duration(q)
	}
	return fate
}

// A client that closes while a waiter that gave up is being registered leaves no place behind, though its releases are
// faster than that.
func TestACloseDuringARegistrationLeavesNoPlace(t *testing.T) {
	t.Parallel()
	for name, direct := range map[string]bool{"a call ends with its context": true, "a call ends with its answer": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			closes := func(client *rlock.Client) { require.NoError(t, client.Close()) }
			leaveWhileRegistered(t, queueing(registerTrip), direct, closes)
		})
	}
}

// The same of calls that end while their client goes on: whether the registration is answered late, or its answer is
// lost.
func TestOneThatLeavesDuringItsRegistrationHasNoPlace(t *testing.T) {
	t.Parallel()
	for name, network := range map[string]memstore.Network{
		"a late answer": queueing(registerTrip), "no answer": unanswered(registerTrip),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			leaveWhileRegistered(t, network, true, func(*rlock.Client) {})
		})
	}
}

// registerTrip is how long a registration takes to the server.
const registerTrip = 100 * time.Millisecond

// unanswered is a network on which registrations take their time, and their answers are lost.
type unanswered time.Duration

func (u unanswered) Fate(of memstore.Request) memstore.Fate {
	return memstore.Fate{Before: queueing(u).Fate(of).Before, Mute: of.Kind == memstore.Enqueue}
}

// leaveWhileRegistered has three calls of a client wait, and leave at all instants of the registration of two of them.
func leaveWhileRegistered(t *testing.T, network memstore.Network, direct bool, then func(*rlock.Client)) {
	synctest.Test(t, func(t *testing.T) {
		const trip = registerTrip
		server := memstore.NewServer(network)
		defer server.Close()
		rival, _ := open(t, server, 0, true, minute)
		_, unlock, err := fairlock.New(rival, "a").Lock(t.Context())
		require.NoError(t, err)
		for at := range 30 {
			client, _ := open(t, server, 1+at, direct, minute)
			ctx, leave := context.WithCancel(t.Context())
			var waiting sync.WaitGroup
			for i := range 3 {
				waiting.Go(func() {
					time.Sleep(time.Duration(i) * trip / 4)
					_, _, err := fairlock.New(client, "a").Lock(ctx)
					assert.Error(t, err)
				})
			}
			time.Sleep(time.Duration(at) * trip / 10)
			leave()
			time.Sleep(time.Millisecond)
			then(client)
			waiting.Wait()
			time.Sleep(minute)
			require.NotContains(t, strings.Join(server.Left(), " "), "queue", "left at %d", at)
		}
		require.NoError(t, unlock())
	})
}

// silenced is a network on which nothing of the first client arrives, once it is dead.
type silenced struct{ dead atomic.Bool }

func (s *silenced) Fate(of memstore.Request) memstore.Fate {
	const trip = time.Millisecond
	return memstore.Fate{Before: trip, After: trip, Lost: of.Client == 0 && s.dead.Load()}
}

// The death of a process that has the lock and waits for it with others costs the rest its lease, or the invitation by
// which it holds if that is longer, and a poll: none of its waiters is waited for (defect F10).
func TestADeadProcessIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	const lease, poll, invitation, trips = time.Second, time.Second, 2 * time.Second, 20 * time.Millisecond
	for name, c := range map[string]struct {
		invited bool          // it was granted the lock by a message
		after   time.Duration // it had the lock
		most    time.Duration
	}{
		"it came first":       {false, 0, lease + poll + trips},
		"it was renewed":      {false, 5 * lease, lease + poll + trips},
		"it was just invited": {true, trips, invitation + poll + trips},
		"it was invited":      {true, lease, lease + poll + trips},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				network := new(silenced)
				server := memstore.NewServer(network)
				defer server.Close()
				var locks []*rlock.Lock
				for i := range 3 {
					client, _ := open(t, server, i, true, lease)
					locks = append(locks, fairlock.New(client, "a"))
				}
				var order []int
				in := make(chan func() error)
				wait := func(process int) {
					go func() {
						if _, unlock, err := locks[process].Lock(t.Context()); err == nil {
							order = append(order, process)
							in <- unlock
						}
					}()
					time.Sleep(trips) // it has its place
				}
				if c.invited {
					wait(1)
				}
				for _, process := range []int{0, 0, 1, 0, 2, 1, 0} {
					wait(process)
				}
				unlock := <-in
				if c.invited {
					require.NoError(t, unlock())
					<-in
				}
				time.Sleep(c.after)
				network.dead.Store(true)
				died := time.Now()
				for range 3 {
					unlock = <-in
					require.LessOrEqual(t, time.Since(died), c.most)
					require.NoError(t, unlock())
				}
				require.Equal(t, []int{1, 2, 1}, order[len(order)-3:])
				network.dead.Store(false)
			})
		})
	}
}
