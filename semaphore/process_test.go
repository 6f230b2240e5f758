package semaphore_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// The configuration of a child process, in its environment.
const (
	childAddr  = "HOLDFAST_TEST_ADDR"
	childName  = "HOLDFAST_TEST_NAME"
	childCount = "HOLDFAST_TEST_COUNT"
)

func init() { roles["holder"] = holder }

// child is this test binary, started again as a process that acquires permits.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string // closed when the child has ended
}

func (l *lab) child(count int64) *child {
	l.Helper()
	c := &child{t: l.T, cmd: exec.Command(os.Args[0]), lines: make(chan string, 16)}
	c.cmd.Env = append(os.Environ(), roleEnv+"=holder", childAddr+"="+l.server.Addr(),
		childName+"="+l.name, childCount+"="+strconv.FormatInt(count, 10))
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

func (c *child) hear() string { return arrives(c.t, c.lines, "the child says something") }

// kill ends the child with SIGKILL, and returns when it is gone.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	for range c.lines {
	}
	_ = c.cmd.Wait() // its status says nothing
}

// freeze stops the child, and returns when it stands still.
func (c *child) freeze() {
	c.t.Helper()
	require.NoError(c.t, redistest.Freeze(c.cmd.Process))
}

func (c *child) thaw() {
	c.t.Helper()
	require.NoError(c.t, c.cmd.Process.Signal(syscall.SIGCONT))
}

// holder says "held" when it holds, and then what its context ends with.
func holder() {
	check := func(err error) {
		if err != nil {
			fmt.Println("failed:", err)
			os.Exit(1)
		}
	}
	go func() { // ends with its input
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	count, err := strconv.ParseInt(os.Getenv(childCount), 10, 64)
	check(err)
	client, err := rlock.NewClient(redis.NewClient(&redis.Options{Addr: os.Getenv(childAddr)}),
		quiet(&rlock.ClientOptions{Lease: labLease}))
	check(err)
	held, release, err := semaphore.New(client, os.Getenv(childName)).Acquire(context.Background(), count)
	check(err)
	fmt.Println("held")
	<-held.Done()
	fmt.Println(context.Cause(held) != nil && release() != nil)
}

// needs 11: the permits of a crashed holder come back with the end of its lease, and no others.
func TestPermitsOfAKilledHolderComeBack(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	s := l.leased(3)
	c := l.child(2)
	require.Equal(t, "held", c.hear())
	held, release, err := s.Acquire(t.Context(), 1)
	require.NoError(t, err)
	l.sums(0, 3)
	waiter := l.waits(l.bounded(), s, 2)
	c.kill()
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
	var children []*child
	for range 3 {
		children = append(children, l.child(2))
	}
	redistest.Eventually(t, patience, func() bool {
		info, err := s.Inspect(t.Context())
		return err == nil && info.Waiters == len(children)
	}, "they wait")
	for _, c := range children {
		c.kill()
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
	require.Equal(t, "held", c.hear())
	c.freeze()
	waiter := l.waits(l.bounded(), s, 1)
	got := arrives(t, waiter, "the lease of the frozen one ends")
	require.NoError(t, got.err)
	c.thaw()
	require.Equal(t, "true", c.hear(), "it hears of its loss, and its release is refused")
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
