package semaphore_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// orders are what a child process is told.
type orders struct {
	Addr, Name string
	Count      int64 // the permits that it acquires
}

// holder says "held" when it holds, and then what its context ends with.
var holder = role.New("holder", func(o orders) {
	client, err := rlock.NewClient(redis.NewClient(&redis.Options{Addr: o.Addr}),
		quiet(&rlock.ClientOptions{Lease: labLease}))
	role.Check(err)
	held, release, err := semaphore.New(client, o.Name).Acquire(context.Background(), o.Count)
	role.Check(err)
	fmt.Println("held")
	<-held.Done()
	fmt.Println(context.Cause(held) != nil && release() != nil)
})

func (l *lab) child(count int64) *role.Process {
	l.Helper()
	return holder.Start(l, orders{Addr: l.server.Addr(), Name: l.name, Count: count})
}

// needs 11: the permits of a crashed holder come back with the end of its lease, and no others.
func TestPermitsOfAKilledHolderComeBack(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := l.leased(3)
	c := l.child(2)
	c.Hears("held")
	held, release, err := s.Acquire(t.Context(), 1)
	require.NoError(t, err)
	l.sums(0, 3)
	waiter := l.waits(l.bounded(), s, 2)
	c.Kill()
	got := arrives(t, waiter, "the killed holder's permits come back")
	require.NoError(t, got.err)
	l.sums(0, 3)
	require.NoError(t, held.Err(), "the other one keeps its own")
	require.NoError(t, got.release())
	require.NoError(t, release())
	l.sums(3, 0)
}

func TestAKilledWaiterTakesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := l.leased(2)
	_, release, err := s.Acquire(t.Context(), 2)
	require.NoError(t, err)
	var children []*role.Process
	for range 3 {
		children = append(children, l.child(2))
	}
	redistest.Eventually(t, patience, func() bool {
		info, err := s.Inspect(t.Context())
		return err == nil && info.Waiters == len(children)
	}, "they wait")
	for _, c := range children {
		c.Kill()
	}
	require.NoError(t, release())
	_, release, err = s.TryAcquire(t.Context(), 2)
	require.NoError(t, err, "nobody took any")
	require.NoError(t, release())
	l.sums(2, 0)
}

// G2: a process that was stopped for longer than its lease has nothing any more, and takes nothing from
// whom the permits went to.
func TestAFrozenHolderHasLost(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := l.leased(1)
	c := l.child(1)
	c.Hears("held")
	c.Freeze()
	waiter := l.waits(l.bounded(), s, 1)
	got := arrives(t, waiter, "the lease of the frozen one ends")
	require.NoError(t, got.err)
	c.Thaw()
	require.Equal(t, "true", c.Hear(), "it hears of its loss, and its release is refused")
	l.quietly()
	l.sums(0, 1)
	require.NoError(t, got.ctx.Err())
	require.NoError(t, got.release())
	l.sums(1, 0)
}

// After a restart that lost the data there is no capacity: holders lose what they had, and nobody gets
// any until a capacity is set again.
func TestARestartThatLostTheData(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	l := newLab(t, server)
	s := l.leased(2)
	held, release, err := s.Acquire(t.Context(), 2)
	require.NoError(t, err)
	waiter := l.waits(l.bounded(), semaphore.New(l.other, l.name), 1)
	server.Kill()
	server.Restart()
	arrives(t, held.Done(), "the loss is noticed")
	require.ErrorIs(t, context.Cause(held), rlock.ErrLost)
	require.ErrorIs(t, release(), rlock.ErrLost)
	nothingYet(t, waiter, "there is no capacity")
	require.NoError(t, s.SetCapacity(l.bounded(), 1))
	got := arrives(t, waiter, "there is one again")
	require.NoError(t, got.err)
	l.sums(0, 1)
	require.NoError(t, got.release())
	l.sums(1, 0)
}

// Permits that the server wrote to disk are still held after a restart.
func TestARestartThatKeptTheData(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.WithArgs("--appendonly", "yes", "--appendfsync", "always"))
	l := newLab(t, server)
	l.client = newClient(t, server.Addr(), &rlock.ClientOptions{Lease: 30 * time.Second})
	s := l.leased(2)
	held, release, err := s.Acquire(t.Context(), 2)
	require.NoError(t, err)
	server.Kill()
	server.Restart()
	_, _, err = semaphore.New(l.client, l.name).TryAcquire(l.bounded(), 1)
	require.ErrorIs(t, err, rlock.ErrBusy)
	l.sums(0, 2)
	require.NoError(t, held.Err())
	require.NoError(t, release())
	l.sums(2, 0)
}
