package fairlock_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// While a crowd contends, somebody deletes keys of the queue at random: nobody is in beside another, everybody
// gets in, and nothing is left (bug 34).
func TestKeysOfTheQueueAreDeletedUnderLoad(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	stop, stopped := make(chan struct{}), make(chan int)
	go func() {
		deleted := 0
		for {
			select {
			case <-stop:
				stopped <- deleted
				return
			case <-time.After(rand.N(20 * time.Millisecond)):
			}
			key := l.key([]string{"queue", "alive", "state"}[rand.N(3)])
			deleted += int(l.rdb.Del(context.Background(), key).Val())
		}
	}()
	var done sync.WaitGroup
	var mu sync.Mutex
	inside, last := 0, int64(0)
	for range 3 {
		p := l.peer(rlock.ClientOptions{Lease: 30 * time.Second, MaxPoll: 50 * time.Millisecond})
		for range 4 {
			done.Go(func() {
				for range 10 {
					assert.NoError(t, p.Do(context.Background(), func(ctx context.Context) error {
						held, err := p.Held(ctx)
						mu.Lock()
						inside++
						assert.Equal(t, 1, inside)
						assert.Greater(t, held.Fence, last)
						last = held.Fence
						mu.Unlock()
						<-time.After(time.Millisecond) // somebody else could come in
						mu.Lock()
						inside--
						mu.Unlock()
						return err
					}))
				}
			})
		}
	}
	done.Wait()
	close(stop)
	deleted := <-stopped
	t.Logf("%d keys were deleted", deleted)
	require.Positive(t, deleted)
	// What was written after its queue was deleted stays until somebody waits again.
	p := l.peer(rlock.ClientOptions{})
	first := p.take()
	next := p.wait()
	l.inOrder(first, next)
	l.clean()
}

// The hold itself is deleted: its owner learns of it, and the queue goes on in order.
func TestTheLockIsDeleted(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	opts := rlock.ClientOptions{Lease: 1500 * time.Millisecond, MaxPoll: 500 * time.Millisecond}
	a, b, c := l.peer(opts), l.peer(opts), l.peer(opts)
	first := a.take()
	second, third := b.wait(), c.wait()
	require.NoError(t, l.rdb.Del(context.Background(), l.name).Err())
	h := l.arrives(second)
	require.ErrorIs(t, first.ends(t), rlock.ErrLost)
	require.ErrorIs(t, first.unlock(), rlock.ErrLost)
	require.Empty(t, third)
	l.inOrder(h, third)
	l.clean()
}

// A waiter waits for many times as long as a client lives without asking, and has its turn (needs 9, bug 54).
func TestALongWaitKeepsItsPlace(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	opts := rlock.ClientOptions{MaxPoll: 100 * time.Millisecond}
	a, b, c := l.peer(opts), l.peer(opts), l.peer(opts)
	first := a.take()
	second, third := b.wait(), c.wait()
	head := l.rdb.ZRangeWithScores(context.Background(), l.key("queue"), 0, -1).Val()
	<-time.After(5 * time.Second)
	require.Equal(t, head, l.rdb.ZRangeWithScores(context.Background(), l.key("queue"), 0, -1).Val(),
		"tickets do not drift")
	l.inOrder(first, second, third)
	l.clean()
}

// A process that Redis did not hear of for longer than it lives in the queue comes back with all of its waiters,
// to the places that they had (bugs 32, 53).
func TestAllOfAProcessComesBack(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	proxy := faultproxy.Start(t, l.server.Addr())
	opts := rlock.ClientOptions{Lease: 30 * time.Second, MaxPoll: 500 * time.Millisecond}
	cut, rival := l.peerAt(proxy.Addr(), opts), l.peer(opts)
	first := rival.take()
	mine := []<-chan hold{cut.wait(), cut.wait(), cut.wait()}
	second, last := rival.wait(), rival.wait()
	proxy.Blackhole(true)
	redistest.Eventually(t, patience, func() bool {
		return l.rdb.ZCard(context.Background(), l.key("alive")).Val() == 1
	}, "the process stays alive")
	first.frees(t)
	h := l.arrives(second)
	l.queued(1)
	proxy.Blackhole(false)
	l.queued(4)
	l.inOrder(h, append(mine, last)...)
	l.clean()
}
