package rlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// Waiters of one process on one name wait on Redis as one (G7).
func TestManyWaitersCostRedisAsMuchAsOne(t *testing.T) {
	lab := newTimeLab(t)
	holder := lab.outside(t, rlock.ClientOptions{})
	client := lab.client(t, rlock.ClientOptions{MaxPoll: time.Hour})
	hold := timeLock(t, t.Context(), rlock.New(holder, "order"))
	lock := rlock.New(client, "order")
	ctx, cancel := context.WithCancel(t.Context())
	const waiters = 500
	ended := make(chan error, waiters)
	for range waiters {
		go func() {
			_, _, err := lock.Lock(ctx)
			ended <- err
		}()
	}
	redistest.Eventually(t, timeLimit, func() bool { return client.Stats().Waiters == waiters }, "each call waits")
	inspectSees(t, rlock.New(holder, "order"), 1) // the first one was answered, and listens
	acquired := faultproxy.Script(luacall.SHA("acquire"))
	// Once to learn the script and once the clock, then before and after subscribing.
	require.LessOrEqual(t, lab.proxy.Requests(acquired), 4)
	cancel()
	for range waiters {
		require.ErrorIs(t, timeReceive(t, ended, "a waiter's end"), rlock.ErrBusy)
	}
	require.NoError(t, hold.unlock())
}
