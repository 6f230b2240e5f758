package rwlock_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// What a child process is told.
const (
	childAddr  = "HOLDFAST_TEST_ADDR"
	childName  = "HOLDFAST_TEST_NAME"
	childSide  = "HOLDFAST_TEST_SIDE" // read, write, or nested: a read hold inside a write hold
	childLease = 2 * time.Second
)

func init() { roles["holder"] = childHolds }

// childHolds takes a side, says so, and holds until it is killed or its input ends.
func childHolds() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv(childAddr)})
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{
		Lease: childLease, MaxPoll: childLease / 4, Logger: quiet,
	})
	if err == nil {
		lock, ctx := rwlock.New(client, os.Getenv(childName)), context.Background()
		if os.Getenv(childSide) != "read" {
			ctx, _, err = lock.Write().Lock(ctx)
		}
		if err == nil && os.Getenv(childSide) != "write" {
			_, _, err = lock.Read().Lock(ctx)
		}
	}
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	fmt.Println("held")
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// child is this test binary, started again.
type child struct {
	t   *testing.T
	cmd *exec.Cmd
	out *bufio.Reader
}

func (l *lab) child(side string) *child {
	l.Helper()
	c := &child{t: l.T, cmd: exec.Command(os.Args[0])}
	c.cmd.Env = append(os.Environ(), roleEnv+"=holder", childAddr+"="+l.server.Addr(),
		childName+"="+l.name, childSide+"="+side)
	c.cmd.Stderr = os.Stderr
	_, err := c.cmd.StdinPipe() // whose end ends the child, should this process die
	require.NoError(l, err)
	out, err := c.cmd.StdoutPipe()
	require.NoError(l, err)
	c.out = bufio.NewReader(out)
	require.NoError(l, c.cmd.Start())
	l.Cleanup(c.kill)
	return c
}

func (c *child) holds() *child {
	c.t.Helper()
	line, err := c.out.ReadString('\n')
	require.NoError(c.t, err)
	require.Equal(c.t, "held", strings.TrimSpace(line))
	return c
}

// kill ends the child with SIGKILL, and returns when it is gone.
func (c *child) kill() {
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait() // its status says nothing
}

// Bug 15, needs 19: whatever a killed process held is over with its own lease, though other readers renew the
// lock all the time; and not before.
func TestAKilledProcessIsOutWithItsOwnLease(t *testing.T) {
	t.Parallel()
	for _, side := range []string{"read", "write", "nested"} {
		t.Run(side, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			killed := l.child(side).holds()
			a := l.peer(rlock.ClientOptions{Lease: childLease})
			w := l.peer(rlock.ClientOptions{})
			var other *hold
			if side == "read" {
				h := a.read()
				other = &h
			}
			writer := w.wait(w.Write())
			l.listened()
			killed.kill()
			at := time.Now()
			left := l.longest(other)
			if other != nil {
				a.renewals(3) // a lease, in which the dead reader's field is kept in the hash by a's renewals
				require.NoError(t, other.unlock())
			}
			h := l.arrives(writer)
			require.GreaterOrEqual(t, time.Since(at), left-time.Millisecond, "before the lease was over")
			require.Less(t, time.Since(at), patience/2)
			h.frees(t)
			l.clean()
		})
	}
}

// longest is what is left of the killed child's lease.
func (l *lab) longest(but *hold) (left time.Duration) {
	l.Helper()
	if but == nil {
		return l.rdb.PTTL(context.Background(), l.name).Val()
	}
	id := but.known(l).ID
	for field := range l.hash() {
		if field != "mode" && field != id {
			left = max(left, l.rdb.PTTL(context.Background(), l.holdKey(field, "1")).Val())
		}
	}
	require.Positive(l, left)
	return left
}

// A reader that is alone with a dead one is not kept in the lock by it, and the writer need not be told.
func TestADeadReaderDoesNotKeepAWriterOut(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	killed := l.child("read").holds()
	long := l.peer(rlock.ClientOptions{Lease: childLease}, rlock.FixedLease(time.Minute))
	h := long.read() // which makes the hash live for a minute
	require.NoError(t, h.unlock())
	w := l.peer(rlock.ClientOptions{})
	writer := w.wait(w.Write())
	killed.kill()
	l.arrives(writer).frees(t)
	l.clean()
}

// A writer that waits and is killed leaves a gate, which opens by itself.
func TestAKilledWritersGateOpensByItself(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a, b := l.peer(rlock.ClientOptions{}), l.peer(rlock.ClientOptions{})
	first := a.read()
	killed := l.child("write")
	l.gated()
	later := b.wait(b.Read())
	killed.kill()
	l.arrives(later).frees(t)
	first.frees(t)
	l.clean()
}

// A waiting reader that is killed is in nobody's way.
func TestAKilledWaiterIsInNobodysWay(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	a := l.peer(rlock.ClientOptions{})
	w := a.write()
	killed := l.child("read")
	l.listened()
	killed.kill()
	redistest.Eventually(t, patience, func() bool {
		return l.rdb.PubSubNumSub(t.Context(), l.channel()).Val()[l.channel()] == 0
	}, "it still listens")
	w.frees(t)
	a.write().frees(t)
	l.clean()
}
