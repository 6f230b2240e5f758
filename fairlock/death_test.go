package fairlock_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	childLease, childPoll = 3 * time.Second, 500 * time.Millisecond
	// Of a child that asks twice as seldom, and whose lease is shorter than it lives in the queue.
	slowLease, slowPoll = 2 * time.Second, time.Second
)

// orders are what a child process is told.
type orders struct {
	Addr, Name  string
	Lease, Poll time.Duration
}

// lock is a child's lock, of a client of its own.
func (o orders) lock() *rlock.Lock {
	client, err := rlock.NewClient(redis.NewClient(&redis.Options{Addr: o.Addr}),
		&rlock.ClientOptions{Lease: o.Lease, MaxPoll: o.Poll, Logger: quiet})
	role.Check(err)
	return fairlock.New(client, o.Name)
}

// waiter is a child process that waits for the lock, says "held" and its token, unlocks when it is told to,
// and says "freed".
var waiter = role.New("waiter", func(o orders) {
	lock := o.lock()
	for {
		role.Told()
		held, unlock, err := lock.Lock(context.Background())
		role.Check(err)
		known, err := lock.Held(held)
		role.Check(err)
		fmt.Println("held", known.Fence)
		role.Told()
		role.Check(unlock())
		fmt.Println("freed")
	}
})

// orders are those of a child that contends for the lab's lock.
func (l *lab) orders() orders {
	return orders{Addr: l.server.Addr(), Name: l.name, Lease: childLease, Poll: childPoll}
}

// child starts a process that has its place in the queue when this returns.
func (l *lab) child() *role.Process {
	l.Helper()
	c := waiter.Start(l, l.orders())
	l.joins(c)
	return c
}

// holder is a child that holds the lock.
func (l *lab) holder() *role.Process {
	l.Helper()
	c := waiter.Start(l, l.orders())
	c.Say("lock")
	c.Hears("held")
	return c
}

// joins has a caller of the child come, which has its place when this returns.
func (l *lab) joins(c *role.Process) {
	l.Helper()
	before := l.waiters()
	c.Say("lock")
	redistest.Eventually(l, patience, func() bool { return l.waiters() > before }, "the child gets no place")
}

// serve lets the children in, in the order in which they stand here.
func serve(t *testing.T, children ...*role.Process) {
	t.Helper()
	for i, c := range children {
		c.Hears("held")
		for _, later := range children[i+1:] {
			later.Silent("somebody is in beside the holder")
		}
		c.Say("unlock")
		c.Hears("freed")
	}
}

// Of forty processes that wait twenty are killed, all over the queue: the others get in, in order (needs 9).
func TestKilledWaitersArePassedOver(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	first := l.peer(rlock.ClientOptions{}).take()
	var live, dead []*role.Process
	for i := range 40 {
		c := l.child()
		if i*7%20 < 10 {
			dead = append(dead, c)
		} else {
			live = append(live, c)
		}
	}
	require.Len(t, dead, 20)
	for _, c := range dead {
		c.Kill()
	}
	first.frees(t)
	serve(t, live...)
	l.clean()
}

// A holder that dies without a word is noticed by the first in the queue, when its lease is over, and by
// nobody else before (bug 33).
func TestTheFirstNoticesADeadHolder(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	holder := l.holder()
	waiters := []*role.Process{l.child(), l.child()}
	holder.Kill()
	require.EqualValues(t, 1, l.rdb.Exists(context.Background(), l.name).Val())
	serve(t, waiters...)
	l.clean()
}

// A process that was stopped for longer than it lives in the queue is passed over, and back in its old place
// when it goes on (bugs 32, 53). The thaw comes when the one place that is left is its own (defect F29).
func TestAStoppedWaiterComesBackToItsPlace(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	holder := l.holder()
	stopped, second, third := l.child(), l.child(), l.child()
	stopped.Freeze()
	redistest.Eventually(t, patience, func() bool {
		// Its life is over when Redis has forgotten it.
		return l.rdb.ZCard(context.Background(), l.key("alive")).Val() == 2
	}, "the stopped process stays alive")
	holder.Say("unlock")
	holder.Hears("freed")
	second.Hears("held")
	l.queued(1) // Redis knows by now that a message let it in
	stopped.Thaw()
	l.queued(2)
	stopped.Silent("it was passed over")
	second.Say("unlock")
	second.Hears("freed")
	serve(t, stopped, third)
	l.clean()
}

// One that is killed in the moment in which it is invited costs the others an invitation's time, not a lease.
func TestAnInvitedProcessDies(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	first := l.peer(rlock.ClientOptions{}).take()
	dead, live := l.child(), l.child()
	dead.Freeze()
	first.frees(t)
	require.Equal(t, []string{"1000000000"}, l.rdb.HVals(context.Background(), l.name).Val(), "it is invited")
	dead.Kill()
	serve(t, live)
	l.clean()
}

// While Redis stands still nobody is taken for dead, and the order stays what it was.
func TestAFrozenServerKeepsTheOrder(t *testing.T) {
	t.Parallel()
	l := labOn(t, redistest.Start(t))
	var peers []*peer
	for range 3 {
		peers = append(peers, l.peer(rlock.ClientOptions{Lease: time.Minute, MaxPoll: 500 * time.Millisecond}))
	}
	first := peers[0].take()
	var waiting []<-chan hold
	for i := range 9 {
		waiting = append(waiting, peers[i*2%3].wait())
	}
	l.server.Stop()
	<-time.After(4 * time.Second) // twice what a client lives
	l.server.Continue()
	require.EqualValues(t, 9, l.waiters())
	l.inOrder(first, waiting...)
	l.clean()
}

// A restart that loses everything: the hold is lost, and the waiters get in in their old order.
func TestARestartThatLosesEverythingKeepsTheOrder(t *testing.T) {
	t.Parallel()
	l := labOn(t, redistest.Start(t))
	opts := rlock.ClientOptions{Lease: time.Minute, MaxPoll: 500 * time.Millisecond}
	first := l.peer(opts).take()
	var waiting []<-chan hold
	for range 4 {
		waiting = append(waiting, l.peer(opts).wait())
	}
	l.server.Kill()
	l.server.Restart()
	var holder hold
	for _, c := range waiting {
		holder = l.arrives(c)
		for _, later := range waiting {
			require.Empty(t, later, "somebody is in beside the holder")
		}
		holder.frees(t)
	}
	require.ErrorIs(t, first.unlock(), rlock.ErrLost)
	l.clean()
}

// A process dies that has the lock and waits for it with others: the rest get it in their order, and none of the dead
// is invited before (defect F10).
func TestADeadProcessIsPassedOver(t *testing.T) {
	t.Parallel()
	for name, invited := range map[string]bool{"it came first": false, "it was invited": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			opts := rlock.ClientOptions{Lease: slowLease, MaxPoll: slowPoll}
			b, c := l.peer(opts), l.peer(opts)
			orders := l.orders()
			orders.Lease, orders.Poll = slowLease, slowPoll
			dead := crowd.Start(t, orders)
			if invited {
				first := b.take()
				l.joins(dead)
				first.frees(t)
			} else {
				dead.Say("lock")
			}
			client, _, _ := strings.Cut(dead.Hears("held"), ":")
			l.queued(0)
			l.joins(dead)
			l.joins(dead)
			first := b.wait()
			l.joins(dead)
			second, third := c.wait(), b.wait()
			told := l.rdb.Subscribe(context.Background(), "holdfast_fair:{"+l.name+"}:"+client)
			t.Cleanup(func() { _ = told.Close() })
			_, err := told.Receive(context.Background())
			require.NoError(t, err)
			dead.Kill()
			died := time.Now()
			h := l.arrives(first)
			took := time.Since(died)
			require.NoError(t, l.rdb.Publish(context.Background(), "holdfast_fair:{"+l.name+"}:"+client, "end").Err())
			message, err := told.ReceiveMessage(context.Background())
			require.NoError(t, err)
			require.Equal(t, "end", message.Payload, "one of the dead was invited")
			t.Logf("the next has it %v after the death", took)
			require.Less(t, took, 3*slowLease)
			l.inOrder(h, second, third)
			l.clean()
		})
	}
}
