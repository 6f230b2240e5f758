package fairlock_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	childAddr = "HOLDFAST_TEST_ADDR"
	childName = "HOLDFAST_TEST_NAME"

	childLease, childPoll = 3 * time.Second, 500 * time.Millisecond
	slowChild             = "HOLDFAST_TEST_SLOW" // it asks twice as seldom, and its lease is shorter than it lives in the queue

	slowLease, slowPoll = 2 * time.Second, time.Second
)

func init() { roles["waiter"] = waiter }

// waiter is a child process that waits for the lock, says "held" and its token, unlocks when it is told to,
// and says "freed".
func waiter() {
	lock := childLock()
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		held, unlock, err := lock.Lock(context.Background())
		check(err)
		known, err := lock.Held(held)
		check(err)
		fmt.Println("held", known.Fence)
		if !lines.Scan() {
			return
		}
		check(unlock())
		fmt.Println("freed")
	}
}

// childLock is a child's lock, of a client of its own.
func childLock() *rlock.Lock {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv(childAddr)})
	options := rlock.ClientOptions{Lease: childLease, MaxPoll: childPoll, Logger: quiet}
	if os.Getenv(slowChild) != "" {
		options.Lease, options.MaxPoll = slowLease, slowPoll
	}
	client, err := rlock.NewClient(rdb, &options)
	check(err)
	return fairlock.New(client, os.Getenv(childName))
}

func check(err error) {
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
}

// child is this test binary, started again as a waiter.
type child struct {
	l     *lab
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string // closed when it has ended
}

// child starts a process that has its place in the queue when this returns.
func (l *lab) child() *child {
	l.Helper()
	before := l.waiters()
	c := l.idleChild()
	c.say("lock")
	redistest.Eventually(l, patience, func() bool { return l.waiters() > before }, "the child gets no place")
	return c
}

func (l *lab) idleChild() *child {
	l.Helper()
	return l.childIn("waiter")
}

// childIn starts a child in some role, with more in its environment.
func (l *lab) childIn(role string, env ...string) *child {
	l.Helper()
	c := &child{l: l, cmd: exec.Command(os.Args[0]), lines: make(chan string, 100)}
	c.cmd.Env = append(os.Environ(), roleEnv+"="+role, childAddr+"="+l.server.Addr(), childName+"="+l.name)
	c.cmd.Env = append(c.cmd.Env, env...)
	c.cmd.Stderr = os.Stderr
	var err error
	c.in, err = c.cmd.StdinPipe() // whose end ends the child, should this process die
	require.NoError(l, err)
	out, err := c.cmd.StdoutPipe()
	require.NoError(l, err)
	require.NoError(l, c.cmd.Start())
	go func() {
		defer close(c.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			c.lines <- lines.Text()
		}
	}()
	l.Cleanup(c.kill)
	return c
}

// kill ends the child with SIGKILL, and returns when it is gone.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	for range c.lines {
	}
	_ = c.cmd.Wait() // its status says nothing
}

// freeze stops the child, and returns when it stands still.
func (c *child) freeze() {
	c.l.Helper()
	require.NoError(c.l, redistest.Freeze(c.cmd.Process))
}

func (c *child) thaw() {
	c.l.Helper()
	require.NoError(c.l, c.cmd.Process.Signal(syscall.SIGCONT))
}

func (c *child) say(line string) {
	c.l.Helper()
	_, err := io.WriteString(c.in, line+"\n")
	require.NoError(c.l, err)
}

func (c *child) hears(word string) {
	c.l.Helper()
	c.next(word)
}

// serve lets the children in, in the order in which they stand here.
func serve(t *testing.T, children ...*child) {
	t.Helper()
	for i, c := range children {
		c.hears("held")
		for _, later := range children[i+1:] {
			require.Empty(t, later.lines, "somebody is in beside the holder")
		}
		c.say("unlock")
		c.hears("freed")
	}
}

// Of forty processes that wait twenty are killed, all over the queue: the others get in, in order (needs 9).
func TestKilledWaitersArePassedOver(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	first := l.peer(rlock.ClientOptions{}).take()
	var live, dead []*child
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
		c.kill()
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
	holder := l.child2()
	waiters := []*child{l.child(), l.child()}
	holder.kill()
	require.EqualValues(t, 1, l.rdb.Exists(context.Background(), l.name).Val())
	serve(t, waiters...)
	l.clean()
}

// child2 is a child that holds the lock.
func (l *lab) child2() *child {
	l.Helper()
	c := l.idleChild()
	c.say("lock")
	c.hears("held")
	return c
}

// A process that was stopped for longer than it lives in the queue is passed over, and back in its old place
// when it goes on (bugs 32, 53). The thaw comes when the one place that is left is its own (defect F29).
func TestAStoppedWaiterComesBackToItsPlace(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	holder := l.child2()
	stopped, second, third := l.child(), l.child(), l.child()
	stopped.freeze()
	redistest.Eventually(t, patience, func() bool {
		// Its life is over when Redis has forgotten it.
		return l.rdb.ZCard(context.Background(), l.key("alive")).Val() == 2
	}, "the stopped process stays alive")
	holder.say("unlock")
	holder.hears("freed")
	second.hears("held")
	l.queued(1) // Redis knows by now that a message let it in
	stopped.thaw()
	l.queued(2)
	require.Empty(t, stopped.lines)
	second.say("unlock")
	second.hears("freed")
	serve(t, stopped, third)
	l.clean()
}

// One that is killed in the moment in which it is invited costs the others an invitation's time, not a lease.
func TestAnInvitedProcessDies(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	first := l.peer(rlock.ClientOptions{}).take()
	dead, live := l.child(), l.child()
	dead.freeze()
	first.frees(t)
	require.Equal(t, []string{"1000000000"}, l.rdb.HVals(context.Background(), l.name).Val(), "it is invited")
	dead.kill()
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
			dead := l.childIn("crowd", slowChild+"=1")
			if invited {
				first := b.take()
				dead.joins()
				first.frees(t)
			} else {
				dead.say("lock")
			}
			client, _, _ := strings.Cut(strings.TrimPrefix(dead.next("held"), "held "), ":")
			l.queued(0)
			dead.joins()
			dead.joins()
			first := b.wait()
			dead.joins()
			second, third := c.wait(), b.wait()
			told := l.rdb.Subscribe(context.Background(), "holdfast_fair:{"+l.name+"}:"+client)
			t.Cleanup(func() { _ = told.Close() })
			_, err := told.Receive(context.Background())
			require.NoError(t, err)
			dead.kill()
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
