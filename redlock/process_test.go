package redlock_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

const childLease = 1500 * time.Millisecond

// holder is a process that holds the lock "child" on nodes, and answers each line with what it knows of its hold.
var holder = role.New("holder", func(addrs []string) {
	var nodes []redis.UniversalClient
	for _, addr := range addrs {
		nodes = append(nodes, redis.NewClient(&redis.Options{Addr: addr}))
	}
	o := options(childLease)
	client, err := redlock.NewClient(nodes, &o)
	role.Check(err)
	lock := redlock.New(client, "child")
	held, unlock, err := lock.Lock(context.Background())
	role.Check(err)
	for {
		line := role.Told()
		hold, err := lock.Held(held)
		switch {
		case line == "unlock":
			fmt.Println(errors.Is(unlock(), rlock.ErrLost))
		case errors.Is(err, rlock.ErrLost):
			fmt.Println("lost", held.Err() != nil)
		default:
			fmt.Println(hold.Fence)
		}
	}
})

// A process that is stopped for longer than its lease cannot be told anything. When it runs again it knows
// at once, by Held, that it has nothing; meanwhile another has the lock, with a greater token, and the
// sleeper's unlock does not touch that.
func TestAStoppedHolder(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	lock := redlock.New(l.client(l.direct(), options(childLease)), "child")
	child := holder.Start(t, l.direct())
	fence, err := strconv.ParseInt(child.Ask("held"), 10, 64)
	require.NoError(t, err)
	_, _, err = lock.TryLock(within(t))
	require.ErrorIs(t, err, rlock.ErrBusy)

	child.Freeze()
	ctx, unlock := take(t, lock)
	hold := alive(t, lock, ctx)
	require.Greater(t, hold.Fence, fence)
	child.Thaw()
	require.Equal(t, "lost true", child.Ask("held"))
	require.Equal(t, "true", child.Ask("unlock"))
	l.renewedAgain("child", 1)
	require.Equal(t, hold.ID, alive(t, lock, ctx).ID)
	require.NoError(t, unlock())
}

// A process that is killed leaves its lock for a lease, on all nodes, and not for longer.
func TestAKilledHolder(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	lock := redlock.New(l.client(l.direct(), options(childLease)), "child")
	child := holder.Start(t, l.direct())
	fence, err := strconv.ParseInt(child.Ask("held"), 10, 64)
	require.NoError(t, err)
	child.Kill()
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
