package fairlock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// A waiter that gives up, at any place, leaves no trace, and the others keep their order (needs 9, bug 31).
func TestGivingUpLeavesNothing(t *testing.T) {
	t.Parallel()
	for place := range 6 {
		t.Run(fmt.Sprint(place), func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			peers := []*peer{l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})}
			first := peers[0].take()
			var waiting []<-chan hold
			var leaver <-chan hold
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			for i := range 6 {
				if i == place {
					leaver = peers[i%2].waitWith(ctx)
					continue
				}
				waiting = append(waiting, peers[i%2].wait())
			}
			cancel()
			err := l.ended(leaver)
			require.ErrorIs(t, err, rlock.ErrBusy)
			require.ErrorIs(t, err, context.Canceled)
			l.queued(5)
			l.inOrder(first, waiting...)
			l.clean()
		})
	}
}

// A wait that is over is one that left, too; and so is an attempt.
func TestAWaitThatIsOverLeavesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a := l.peer(rlock.ClientOptions{})
	b := l.peer(rlock.ClientOptions{}, rlock.MaxWait(500*time.Millisecond))
	first := a.take()
	for range 3 {
		_, _, err := b.Lock.Lock(context.Background())
		require.ErrorIs(t, err, rlock.ErrBusy)
		b.busy()
	}
	l.queued(0)
	first.frees(t)
	b.take().frees(t)
	l.clean()
}

// Close takes all of a process's waiters out.
func TestCloseLeavesTheQueue(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, b, c := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	first := a.take()
	var closed []<-chan hold
	for range 5 {
		closed = append(closed, b.wait())
	}
	last := c.wait()
	require.NoError(t, b.client.Close())
	for _, each := range closed {
		require.ErrorIs(t, l.ended(each), rlock.ErrClosed)
	}
	l.queued(1)
	l.inOrder(first, last)
	l.clean()
}

// A client that is closed while it holds lets the next one in.
func TestCloseLetsTheNextIn(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, b := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	first := a.take()
	next := b.wait()
	require.Error(t, a.client.Close(), "it names what was held")
	require.ErrorIs(t, first.ends(t), rlock.ErrClosed)
	l.arrives(next).frees(t)
	l.clean()
}

// Callers come, give up, and are given the lock in all interleavings: a caller that is told that it holds is alone,
// a caller that waits on gets in, and in the end nothing is left.
func TestComingAndGoingInACrowd(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var peers []*peer
	for range 3 {
		peers = append(peers, l.peer(rlock.ClientOptions{Lease: 30 * time.Second, MaxPoll: time.Second}))
	}
	var done sync.WaitGroup
	var mu sync.Mutex
	inside, entered, gaveUp := 0, 0, 0
	for i := range 12 {
		p := peers[i%len(peers)]
		done.Go(func() {
			for round := range 25 {
				ctx, cancel := context.WithCancel(context.Background())
				if (i+round)%2 == 0 {
					ctx, cancel = context.WithTimeout(ctx, rand.N(20*time.Millisecond))
				}
				err := p.Do(ctx, func(context.Context) error {
					mu.Lock()
					inside++
					entered++
					assert.Equal(t, 1, inside)
					mu.Unlock()
					mu.Lock()
					inside--
					mu.Unlock()
					return nil
				})
				cancel()
				if err != nil {
					assert.True(t, errors.Is(err, context.DeadlineExceeded), "%v", err)
					mu.Lock()
					gaveUp++
					mu.Unlock()
				}
			}
		})
	}
	done.Wait()
	t.Logf("%d were in, %d gave up", entered, gaveUp)
	require.GreaterOrEqual(t, entered, 12*25/2-12)
	l.clean()
}

// While nobody waits, nothing but the lock itself is in Redis; while somebody does, everything expires.
func TestNothingIsKeptForEver(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, b := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	first := a.take()
	require.Equal(t, []string{l.name}, l.left())
	next := b.wait()
	keys := l.left()
	require.ElementsMatch(t, []string{l.name, l.key("queue"), l.key("alive"), l.key("state")}, keys)
	for _, key := range keys {
		require.Positive(t, l.rdb.PTTL(context.Background(), key).Val(), key)
	}
	first.frees(t)
	h := l.arrives(next)
	redistest.Eventually(t, patience, func() bool {
		return l.rdb.Exists(context.Background(), l.key("queue"), l.key("alive")).Val() == 0
	}, "its place stays although it is in")
	h.frees(t)
	require.Empty(t, l.left(), "at once")
	redistest.Eventually(t, patience, func() bool {
		channels := l.rdb.PubSubChannels(context.Background(), "*"+l.name+"*").Val()
		return len(channels) == 0
	}, "somebody still listens")
}
