package fairlock_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// The lock goes from one to the next in the order of arrival, whichever process they are in; nothing but
// messages wakes anybody (needs 9).
func TestTheOrderIsThatOfArrival(t *testing.T) {
	t.Parallel()
	for _, processes := range []int{1, 2, 5} {
		t.Run(fmt.Sprint(processes), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			var peers []*peer
			for range processes {
				peers = append(peers, l.peer(rlock.ClientOptions{}))
			}
			first := peers[0].take()
			var waiting []<-chan hold
			for i := range 20 {
				waiting = append(waiting, peers[i*7%processes].wait())
			}
			l.inOrder(first, waiting...)
			l.clean()
		})
	}
}

// A caller that comes while others wait does not get in before them, however often it tries.
func TestNobodyOvertakes(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, b, c := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	stop, tried := make(chan struct{}), make(chan int)
	first := a.take()
	second := b.wait()
	go func() {
		tries := 0
		for ; ; tries++ {
			select {
			case <-stop:
				tried <- tries
				return
			default:
			}
			if _, unlock, err := c.TryLock(context.Background()); err == nil {
				assert.Fail(t, "it was overtaken")
				_ = unlock()
			}
		}
	}()
	holder := first
	for range 30 {
		third := a.wait()
		holder.frees(t)
		holder = l.arrives(second)
		second = third
	}
	holder.frees(t)
	holder = l.arrives(second)
	close(stop)
	require.Positive(t, <-tried)
	holder.frees(t)
	l.clean()
}

// A crowd of callers in several processes: never two at once, tokens grow, and who was in the queue before
// another one called is in before it.
func TestACrowdIsServedInOrder(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	const processes, callers, rounds = 4, 5, 8
	var mu sync.Mutex
	var log []turn
	inside := 0
	began := time.Now()
	var done sync.WaitGroup
	for range processes {
		p := l.peer(rlock.ClientOptions{Lease: 30 * time.Second, MaxPoll: time.Second})
		for range callers {
			done.Go(func() {
				for range rounds {
					called := time.Since(began)
					err := p.Do(context.Background(), func(ctx context.Context) error {
						held, err := p.Held(ctx)
						mu.Lock()
						inside++
						assert.Equal(t, 1, inside)
						log = append(log, turn{called: called, entered: time.Since(began), fence: held.Fence})
						mu.Unlock()
						mu.Lock()
						inside--
						mu.Unlock()
						return err
					})
					assert.NoError(t, err)
				}
			})
		}
	}
	done.Wait()
	require.Len(t, log, processes*callers*rounds)
	most := 0
	for i := 1; i < len(log); i++ {
		require.Greater(t, log[i].fence, log[i-1].fence)
	}
	for i, at := range log {
		// All who got in between the call and the entry stood before it, or came at the same time.
		between := 0
		for _, other := range log[:i] {
			if other.entered > at.called {
				between++
			}
		}
		most = max(most, between)
	}
	// All others may go first once, and once more while a caller has called but is not registered yet, which takes as long
	// as the machine is busy. A caller that is left out has far more before it.
	require.Less(t, most, 3*processes*callers, "somebody waited for more turns than there are callers")
	l.clean()
}

type turn struct {
	called, entered time.Duration
	fence           int64
}

// A process that asks again and again does not keep the lock from another that waits for it once.
func TestATurnEach(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	busy, patient := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	first := busy.take()
	mine := patient.wait()
	next := busy.wait()
	first.frees(t)
	h := l.arrives(mine)
	require.Empty(t, next)
	h.frees(t)
	l.arrives(next).frees(t)
	l.clean()
}

// A hold is entered again past the queue, and ends with its last level.
func TestAHoldIsEnteredAgainPastTheQueue(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, b := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	outer := a.take()
	waiting := b.wait()
	ctx, unlock, err := a.Lock.Lock(outer.ctx)
	require.NoError(t, err)
	require.Equal(t, 2, hold{lock: a.Lock, ctx: ctx}.known(t).Count)
	require.NoError(t, unlock())
	require.Empty(t, waiting)
	ctx, unlock, err = a.TryLock(outer.ctx)
	require.NoError(t, err)
	require.NoError(t, ctx.Err())
	outer.frees(t)
	require.Empty(t, waiting)
	require.NoError(t, unlock())
	l.arrives(waiting).frees(t)
	l.clean()
}

// On a cluster the messages are sharded ones, and the order is the same.
func TestTheOrderOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.Cluster(t, 2)
	for _, name := range []string{"plain", "a{tag}b"} {
		var waiting []<-chan hold
		var locks []*rlock.Lock
		for range 3 {
			client, err := rlock.NewClient(cluster.Client(t),
				&rlock.ClientOptions{Lease: never, MaxPoll: never, Logger: quiet})
			require.NoError(t, err)
			t.Cleanup(func() { assert.NoError(t, client.Close()) })
			locks = append(locks, fairlock.New(client, name))
		}
		ctx, unlock, err := locks[0].TryLock(context.Background())
		require.NoError(t, err)
		l := &lab{T: t}
		for i := range 6 {
			p := &peer{lab: l, Lock: locks[i*2%3]}
			waiting = append(waiting, p.start(context.Background()))
			redistest.Eventually(t, patience, func() bool {
				info, err := p.Inspect(context.Background())
				return err == nil && info.Waiters == i+1
			}, "it gets no place")
		}
		l.inOrder(hold{locks[0], ctx, unlock, nil}, waiting...)
	}
}
