package redlock_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	childAddrs = "HOLDFAST_TEST_ADDRS"
	childLease = 1500 * time.Millisecond
)

func init() { roles["holder"] = childHolder }

// childHolder holds the lock "child" and answers each line that it reads with what it knows of its hold.
func childHolder() {
	var nodes []redis.UniversalClient
	for addr := range strings.SplitSeq(os.Getenv(childAddrs), ",") {
		nodes = append(nodes, redis.NewClient(&redis.Options{Addr: addr}))
	}
	o := options(childLease)
	client, err := redlock.NewClient(nodes, &o)
	if err != nil {
		panic(err)
	}
	lock := redlock.New(client, "child")
	held, unlock, err := lock.Lock(context.Background())
	if err != nil {
		panic(err)
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		hold, err := lock.Held(held)
		switch {
		case lines.Text() == "unlock":
			fmt.Println(errors.Is(unlock(), rlock.ErrLost))
		case errors.Is(err, rlock.ErrLost):
			fmt.Println("lost", held.Err() != nil)
		default:
			fmt.Println(hold.Fence)
		}
	}
}

// child is a process that holds.
type child struct {
	t   *testing.T
	cmd *exec.Cmd
	in  *os.File
	out *bufio.Scanner
}

func startChild(t *testing.T, addrs []string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleEnv+"=holder", childAddrs+"="+strings.Join(addrs, ","))
	cmd.Stderr = os.Stderr
	read, write, err := os.Pipe()
	require.NoError(t, err)
	cmd.Stdin = read
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	require.NoError(t, read.Close())
	t.Cleanup(func() {
		_ = write.Close()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &child{t: t, cmd: cmd, in: write, out: bufio.NewScanner(out)}
}

// ask sends a line and returns the answer.
func (c *child) ask(line string) string {
	c.t.Helper()
	_, err := fmt.Fprintln(c.in, line)
	require.NoError(c.t, err)
	require.True(c.t, c.out.Scan(), "the child should answer")
	return c.out.Text()
}

// A process that is stopped for longer than its lease cannot be told anything. When it runs again it knows
// at once, by Held, that it has nothing; meanwhile another has the lock, with a greater token, and the
// sleeper's unlock does not touch that.
func TestAStoppedHolder(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	lock := redlock.New(l.client(l.direct(), options(childLease)), "child")
	holder := startChild(t, l.direct())
	fence, err := strconv.ParseInt(holder.ask("held"), 10, 64)
	require.NoError(t, err)
	_, _, err = lock.TryLock(within(t))
	require.ErrorIs(t, err, rlock.ErrBusy)

	require.NoError(t, redistest.Freeze(holder.cmd.Process))
	ctx, unlock := take(t, lock)
	hold := alive(t, lock, ctx)
	require.Greater(t, hold.Fence, fence)
	require.NoError(t, holder.cmd.Process.Signal(syscall.SIGCONT))
	require.Equal(t, "lost true", holder.ask("held"))
	require.Equal(t, "true", holder.ask("unlock"))
	l.renewedAgain("child", 1)
	require.Equal(t, hold.ID, alive(t, lock, ctx).ID)
	require.NoError(t, unlock())
}

// A process that is killed leaves its lock for a lease, on all nodes, and not for longer.
func TestAKilledHolder(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	lock := redlock.New(l.client(l.direct(), options(childLease)), "child")
	holder := startChild(t, l.direct())
	fence, err := strconv.ParseInt(holder.ask("held"), 10, 64)
	require.NoError(t, err)
	require.NoError(t, holder.cmd.Process.Kill())
	_ = holder.cmd.Wait()
	require.Greater(t, once(t, lock), fence)
	l.soonOn("child")
}

// The client can close at any time: its holds are released at every node that answers, and no goroutine is left, even
// if one node is frozen and another is gone. (TestMain looks for goroutines.)
func TestCloseReleasesWhereItCan(t *testing.T) {
	t.Parallel()
	l := newLab(t, 5)
	client := l.client(l.direct(), options(20*time.Second))
	for i := range 100 {
		take(t, redlock.New(client, fmt.Sprintf("open:%d", i)))
	}
	l.servers[1].Stop()
	l.servers[2].Kill()
	waiting := make(chan error, 1)
	go func() {
		_, _, err := redlock.New(client, "open:1").Lock(context.Background())
		waiting <- err
	}()
	err := client.Close()
	require.ErrorContains(t, err, "still held")
	require.ErrorIs(t, <-waiting, rlock.ErrClosed)
	for _, i := range []int{0, 3, 4} {
		for _, key := range l.servers[i].Keys(t) {
			require.NotContains(t, key, "open:1\n")
			require.True(t, strings.HasPrefix(key, "redisson_lock_token:"), "%s is left at %d", key, i)
		}
	}
	require.NoError(t, client.Close())
	_, _, err = redlock.New(client, "open:1").Lock(within(t))
	require.ErrorIs(t, err, rlock.ErrClosed)
	l.servers[1].Continue()
}
